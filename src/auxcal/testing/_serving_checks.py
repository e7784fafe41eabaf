"""What every calibrator promises as a torch module, as an ONNX model and in any surroundings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import is_installed
from auxcal.calibrators import Calibrator
from auxcal.predictions import Predictions
from auxcal.programs import run
from auxcal.testing._trials import fit, require, sample

# Tolerances of exports: float32 has 7 digits, and programs may lose two; a steep map
# amplifies the last bit of a score, which is allowed in one row of 200. Chosen by judgement, not by a script.
_WITHIN, _MOST = 1e-5, 1e-3
_SHARE = 0.995
_N_FEATURES = 5  # any number other than those of the classes
_BAD = (np.nan, np.inf, -np.inf)

Scored = tuple[Any, Any]
Serve = Callable[[Floats, Floats | None], Scored]


class _Trial(NamedTuple):
    """A fitted calibrator and batches to serve."""

    fitted: Calibrator
    batches: tuple[tuple[Floats, Floats | None], ...]


def a_program_gives_the_same(calibrator: Calibrator) -> None:
    """Its program, from which torch and ONNX are built, gives the same prediction and confidence as Python."""
    for trial in _trials(calibrator):
        try:
            _require_same(trial, "its program", partial(run_in_numpy, trial.fitted))
        except InvalidInputError as error:
            require("_program" not in str(error), str(error))
            raise


def a_module_gives_the_same(calibrator: Calibrator) -> None:
    """As a torch module, eager and exported, it gives the same as in Python; skipped if torch is not installed."""
    if not is_installed("torch"):
        return
    import torch

    from auxcal.torch import as_module

    for trial in _trials(calibrator):
        module = as_module(trial.fitted)
        given = [None if array is None else torch.tensor(array) for array in trial.batches[0]]
        free = {0: torch.export.Dim.DYNAMIC}
        shapes = tuple(None if array is None else free for array in given)
        exported = torch.export.export(module, tuple(given), dynamic_shapes=shapes).module()
        for what, served in {"its module": module, "its exported module": exported}.items():
            _require_same(trial, what, partial(_run_in_torch, served))


def an_onnx_model_gives_the_same(calibrator: Calibrator) -> None:
    """As an ONNX model it gives the same as in Python; skipped if onnx or onnxruntime is not installed."""
    if not is_installed("onnx") or not is_installed("experiments"):
        return
    import onnxruntime

    from auxcal.onnx import to_onnx

    for trial in _trials(calibrator):
        model = to_onnx(trial.fitted).SerializeToString()
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        _require_same(trial, "its ONNX model", partial(_run_in_onnx, session))


SERVING_CHECKS = (a_program_gives_the_same, a_module_gives_the_same, an_onnx_model_gives_the_same)


def _trials(calibrator: Calibrator) -> list[_Trial]:
    """Return the calibrator fitted for four classes and for two, and with features if it uses them."""
    trials = []
    for k in (4, 2):
        data = sample(n_classes=k)
        batches = tuple((logits, None) for logits in _batches(data.logits))
        trials.append(_Trial(fit(calibrator, data), batches))
    if calibrator.uses_features:
        data = sample()
        features = np.random.default_rng(0).normal(size=(len(data), _N_FEATURES)).astype(np.float32)
        fitted = fit(calibrator, Predictions(data.logits, data.y, features))
        trials.append(_Trial(fitted, tuple((logits, features[: len(logits)]) for logits in _batches(data.logits))))
    return trials


def _batches(logits: Floats) -> list[Floats]:
    """Return rows of the fit, few rows and one, rows with ties, and logits of ±1e4."""
    rng = np.random.default_rng(0)
    ties = rng.integers(2, size=logits.shape).astype(np.float32)
    extreme = rng.choice([-1e4, 0.0, 1e4], size=logits.shape).astype(np.float32)
    return [logits, logits[:7], logits[:1], ties, extreme]


def _require_same(trial: _Trial, what: str, serve: Serve) -> None:
    _require_no_confidence(trial, what, serve)
    for logits, features in trial.batches:
        expected = trial.fitted.predict_confidence(logits, features)
        prediction, confidence = map(np.asarray, serve(logits, features))
        require(
            np.array_equal(prediction, logits.argmax(axis=1)), f"{what} gives another prediction than NumPy's argmax"
        )
        require(confidence.dtype == np.float32, f"{what} must give a confidence in float32; got {confidence.dtype}")
        require(confidence.shape == expected.shape, f"{what} gives confidences of shape {confidence.shape}")
        off = np.abs(confidence - expected)
        require(
            bool(np.mean(off <= _WITHIN) >= _SHARE and off.max() <= _MOST),
            f"{what} gives another confidence than predict_confidence: with {logits.shape[1]} classes it is off by "
            f"{off.max():.2g} at most, and by more than {_WITHIN:g} in {np.mean(off > _WITHIN):.1%} of the rows",
        )


def _require_no_confidence(trial: _Trial, what: str, serve: Serve) -> None:
    """Require NaN for rows with NaN or infinity, which Python rejects, and for no others."""
    logits, features = trial.batches[0]
    x = logits if features is None else np.concatenate([logits, features], axis=1)
    x = x[: 6 * x.shape[1]].copy()
    bad = np.arange(len(x)) % 2 == 0
    x[bad, np.arange(len(x))[bad] // 6] = np.resize(_BAD, bad.sum())  # each of them in each column
    k = logits.shape[1]
    with np.errstate(invalid="ignore"):
        _, confidence = map(np.asarray, serve(x[:, :k], None if features is None else x[:, k:]))
    require(
        np.array_equal(np.isnan(confidence), bad),
        f"{what} must give NaN for a row with NaN or infinity, and for no other; it gave {confidence[:6]}",
    )


def run_in_numpy(fitted: Calibrator, logits: Floats, features: Floats | None) -> Scored:
    """Run the program of a calibrator at once, and return prediction and confidence."""
    prediction, confidence = run(NumpyOperations(), fitted, logits, features)
    return prediction[:, 0], confidence[:, 0]


def _run_in_torch(module: Any, logits: Floats, features: Floats | None) -> Scored:
    import torch

    given = torch.tensor(logits), None if features is None else torch.tensor(features)
    return given[0].argmax(dim=1), module(*given).numpy()


def _run_in_onnx(session: Any, logits: Floats, features: Floats | None) -> Scored:
    given = {"logits": logits} if features is None else {"logits": logits, "features": features}
    prediction, confidence = session.run(["prediction", "confidence"], given)
    return prediction, confidence


Array = NDArray[Any]


class NumpyOperations:
    """`Operations` that compute at once, in float32."""

    exp, log, sqrt, sigmoid = np.exp, np.log, np.sqrt, expit
    maximum, minimum, equal, matmul = np.maximum, np.minimum, np.equal, np.matmul

    def constant(self, array: ArrayLike, name: str) -> Array:
        numbers = np.asarray(array)
        return numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float32)

    def softplus(self, x: Array) -> Array:
        return np.logaddexp(0, x)

    def where(self, condition: Array, x: float, y: Array) -> Array:
        return np.where(condition, y.dtype.type(x), y)

    def sum(self, x: Array) -> Array:
        return x.sum(axis=1, keepdims=True)

    def max(self, x: Array) -> Array:
        return x.max(axis=1, keepdims=True)

    def count(self, condition: Array) -> Array:
        return self.sum(condition)

    def argmax(self, x: Array) -> Array:
        return x.argmax(axis=1, keepdims=True)

    def logsumexp(self, x: Array) -> Array:
        most = self.max(x)
        return most + self.log(self.sum(np.exp(x - most)))

    def log_softmax(self, x: Array) -> Array:
        shifted = x - self.max(x)
        return shifted - self.logsumexp(shifted)

    def largest(self, x: Array, n: int) -> Array:
        return -np.sort(-x, axis=1)[:, :n]

    def columns(self, x: Array, start: int, stop: int) -> Array:
        return x[:, start:stop]

    def concatenate(self, parts: Sequence[Array]) -> Array:
        return np.concatenate(parts, axis=1)

    def at(self, x: Array, index: Array) -> Array:
        return np.take_along_axis(x, index, axis=1)

    def rows(self, table: Array, index: Array) -> Array:
        return table[index[:, 0]]


Setting = Callable[[], AbstractContextManager[object]]


def what_a_user_has_set_changes_nothing(calibrator: Calibrator) -> None:
    """Floating-point errors that raise, warnings as errors, torch's modes and defaults: all give the same bits."""
    data = sample()
    data = Predictions(10 * data.logits, data.y)  # far enough apart for exponentials to underflow
    serve = is_installed("torch")
    expected = _fitted_and_scored(calibrator, data, nullcontext, serve=serve)
    settings: dict[str, Setting] = {"NumPy's errors that raise": _strict_numpy}
    if serve:
        settings |= {"torch's inference mode and autocast": _inference, "torch's default dtype and device": _defaults}
    for what, setting in settings.items():
        try:
            scored = _fitted_and_scored(calibrator, data, setting, serve=serve)
        except (RuntimeError, ArithmeticError, RuntimeWarning) as error:
            require(False, f"with {what} it fails: {type(error).__name__}: {error}")
        require(all(map(np.array_equal, expected, scored)), f"{what} changes the fit, or what it gives")


def _fitted_and_scored(calibrator: Calibrator, data: Predictions, setting: Setting, *, serve: bool) -> list[Floats]:
    """Return the confidence in Python, and by a torch module."""
    with setting():
        fitted = fit(calibrator, data)
        scored = [fitted.predict_confidence(data.logits)]
        if serve:
            import torch

            from auxcal.torch import as_module

            scored.append(as_module(fitted)(torch.from_numpy(data.logits)).numpy())
    return scored


@contextmanager
def _strict_numpy() -> Iterator[None]:
    with np.errstate(all="raise"), np.printoptions(legacy="1.13"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        before = np.geterr()
        yield
        require(np.geterr() == before, "fit or predict changed NumPy's error handling")


@contextmanager
def _inference() -> Iterator[None]:
    import torch

    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        yield


@contextmanager
def _defaults() -> Iterator[None]:
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), torch.device("meta"):
            yield
    finally:
        torch.set_default_dtype(before)
