"""scikit-learn: a frozen estimator that hands the logits on, and CalibratedClassifierCV around it."""

import numpy as np
from benchmarks.speed.peers import Job, Method
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its input."""

    def fit(self, logits: np.ndarray, y: np.ndarray) -> "Given":
        """Note the classes."""
        self.classes_ = np.arange(logits.shape[1])
        self.n_features_in_ = logits.shape[1]
        return self

    def decision_function(self, logits: np.ndarray) -> np.ndarray:
        """Return the logits."""
        return logits

    def predict(self, logits: np.ndarray) -> np.ndarray:
        """Return the class of the highest logit."""
        return logits.argmax(axis=1)


def calibrated(method: str) -> Method:
    """Return the method of that name in scikit-learn."""

    def fit_and_answer(logits: np.ndarray, y: np.ndarray) -> Job:
        frozen = FrozenEstimator(Given().fit(logits, y))
        return Job(
            lambda: CalibratedClassifierCV(frozen, method=method).fit(logits, y),
            lambda fitted: fitted.predict_proba(logits),
        )

    return fit_and_answer


METHODS = {"temperature": calibrated("temperature"), "isotonic": calibrated("isotonic")}
