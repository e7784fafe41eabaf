"""The data sets of the experiments, read from their official layouts."""

from auxcal.experiments.datasets._catalog import DATASETS, DataSet, dataset

__all__ = ["DATASETS", "DataSet", "dataset"]
