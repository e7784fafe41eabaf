"""What a user has set in NumPy, Python or torch changes no calibrator, and stays as it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.extras import is_installed
from auxcal.calibrators import Calibrator
from auxcal.predictions import Predictions
from auxcal.testing._assertions import demand
from auxcal.testing._trials import fit, sample

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
            found = _fitted_and_scored(calibrator, data, setting, serve=serve)
        except (RuntimeError, ArithmeticError, RuntimeWarning) as error:
            demand(False, f"with {what} it fails: {type(error).__name__}: {error}")
        demand(all(map(np.array_equal, expected, found)), f"{what} changes the fit, or what it gives")


def _fitted_and_scored(calibrator: Calibrator, data: Predictions, setting: Setting, *, serve: bool) -> list[Floats]:
    """Return the confidence in Python, and by a torch module."""
    with setting():
        fitted = fit(calibrator, data)
        scored = [fitted.predict_confidence(data.logits)]
        if serve:
            import torch

            from auxcal.export.torch import as_module

            scored.append(as_module(fitted)(torch.from_numpy(data.logits)).numpy())
    return scored


@contextmanager
def _strict_numpy() -> Iterator[None]:
    with np.errstate(all="raise"), np.printoptions(legacy="1.13"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        before = np.geterr()
        yield
        demand(np.geterr() == before, "fit or predict changed NumPy's error handling")


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
