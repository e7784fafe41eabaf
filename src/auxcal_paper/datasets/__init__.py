"""The data sets of the experiments, read from their official layouts."""

from auxcal_paper.datasets._catalog import DATASETS, DataSet, dataset
from auxcal_paper.datasets._download import download

__all__ = ["DATASETS", "DataSet", "dataset", "download"]
