"""The data sets of the experiments, read from their official layouts."""

from auxcal.experiments.datasets._catalog import DATASETS, DataSet, dataset
from auxcal.experiments.datasets._download import download

__all__ = ["DATASETS", "DataSet", "dataset", "download"]
