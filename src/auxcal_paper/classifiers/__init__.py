"""Target classifiers of the experiments, from their published weights."""

from auxcal._core.extras import needs

with needs("experiments"):
    import torch  # noqa: F401  # all of them are its networks
