"""dirichletcal, the reference of Dirichlet calibration, in an environment of its own with Python 3.12."""

import numpy as np
from benchmarks.speed.answers import ODIR, softmax
from benchmarks.speed.peers import Job
from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator


def dirichlet(logits: np.ndarray, y: np.ndarray) -> Job:
    """Fit W and b with the penalties of the others: means of squares, of all rows of W."""
    proba = softmax(logits)
    return Job(
        lambda: FullDirichletCalibrator(reg_lambda=ODIR, reg_mu=ODIR, reg_norm=True, ref_row=False).fit(proba, y),
        lambda fitted: (np.asarray(fitted.coef_), np.asarray(fitted.intercept_)),
    )


METHODS = {"dirichlet": dirichlet}
