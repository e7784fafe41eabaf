"""Calibrators that are the softmax of a linear map: vector, matrix, Dirichlet and structured scaling."""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.logits import softmax
from auxcal._core.memory import check_memory
from auxcal.calibrators.base import DistributionCalibrator
from auxcal.calibrators.solvers.linear import BYTES_PER_WEIGHT, LinearMap
from auxcal.calibrators.solvers.targets_and_weights import NoClass, rows_to_learn
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, softmax_at


class LinearCalibrator(DistributionCalibrator):
    """softmax(W x + b), or softmax(w ∘ x + b) where `weight_` has one number for each class.

    x are the logits; a method with other inputs supplies `_inputs`, and `_program_inputs` for torch and ONNX.
    """

    no_class: NoClass
    weight_: Floats
    bias_: Floats
    uses_weights = True

    def _inputs(self, logits: Floats) -> Floats:
        return logits

    def _program_inputs(self, ops: Operations, logits: Value) -> Value:
        return logits

    def _proba(self, logits: Floats) -> Floats:
        return linear_softmax(self.weight_, self.bias_, self._inputs(logits))

    def _program(self, ops: Operations, rows: Rows) -> Value:
        x, weight = self._program_inputs(ops, rows.logits), ops.constant(self.weight_.T, "weight")
        weighed = ops.matmul(x, weight) if self.weight_.ndim == 2 else x * weight
        return softmax_at(ops, weighed + ops.constant(self.bias_, "bias"), rows.prediction)

    def _start(self, data: Predictions, *, diagonal: bool = False) -> tuple[Predictions | None, LinearMap]:
        """Return the rows to learn from, if any, and the map of temperature scaling, where the search of W begins."""
        k = data.n_classes
        if not diagonal:
            check_matrix(self, k)
        learned = rows_to_learn(data, self.no_class)
        temperature, problem = fit_temperature(learned)
        unit = np.ones(k) if diagonal else np.eye(k)
        return learned, LinearMap(unit / temperature, np.zeros(k), np.nan, problem)


def linear_softmax(weight: Floats, bias: Floats, x: Floats) -> Floats:
    """Return the distribution of each row in the precision of x."""
    weight, bias = weight.astype(x.dtype), bias.astype(x.dtype)
    return softmax((x @ weight.T if weight.ndim == 2 else x * weight) + bias)


def check_matrix(calibrator: LinearCalibrator, k: int) -> None:
    """Reject more classes than a K × K map can be fitted for in memory."""
    check_memory(BYTES_PER_WEIGHT * k**2, f"{type(calibrator).__name__} with {k:,} classes")
