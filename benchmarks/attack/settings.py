"""What a user has set for a whole process or thread: all gives the same bits, and stays as it was set."""

from __future__ import annotations

import decimal
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
from benchmarks.attack.numbers import Case, small, train_quickly

Setting = Callable[[], AbstractContextManager[Any]]
Work = Callable[[], Any]


def cases() -> Iterator[tuple[str, Case]]:
    """Give every calibrator, and what else computes, under every setting."""
    train_quickly()
    for what, work in _work().items():
        alone = cache(work)
        for name, setting in _settings().items():
            yield f"{what}: {name}", partial(_under, setting, work, alone)


def _settings() -> dict[str, Setting]:
    import torch

    return {
        "NumPy's errors raise": lambda: np.errstate(all="raise"),
        "NumPy's errors call": lambda: np.errstate(all="call", call=_refuse),
        "NumPy prints as before": lambda: np.printoptions(legacy="1.13", precision=1),
        "warnings are errors": _strict_warnings,
        "two decimal digits": lambda: decimal.localcontext(prec=2),
        "no_grad": torch.no_grad,
        "inference_mode": torch.inference_mode,
        "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
        "a default device": lambda: torch.device("meta"),
        "the default device": lambda: _set(torch.get_default_device, torch.set_default_device, "meta"),
        "float64": lambda: _set(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
        "bfloat16": lambda: _set(torch.get_default_dtype, torch.set_default_dtype, torch.bfloat16),
        "deterministic algorithms": lambda: _set(
            torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True
        ),
    }


def _refuse(kind: str, flag: int) -> None:
    raise FloatingPointError(kind)


@contextmanager
def _strict_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@contextmanager
def _set(read: Callable[[], Any], write: Callable[[Any], Any], value: Any) -> Iterator[None]:
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)


def _work() -> dict[str, Work]:
    """Return what computes, by name; each gives an array."""
    import auxcal
    from auxcal import labelling, thresholds

    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 4), scale=20)  # far enough apart for exponentials to underflow
    y = (z / 20 + rng.gumbel(size=z.shape)).argmax(axis=1)
    fitted = auxcal.CCACX(random_state=0).fit(z, y)
    confidence = np.linspace(0.01, 1, 300) ** 50
    correct = rng.random(300) < confidence
    found: dict[str, Work] = {
        method: partial(_fit_and_serve, partial(kind, **small(kind)), z, y)
        for method, kind in auxcal.CALIBRATORS.items()
    }
    source = auxcal.SimplifiedCCAC(**small(auxcal.SimplifiedCCAC)).fit(z, y)
    found["transfer"] = lambda: source.transfer(z[:200] + 1, y[:200]).predict_confidence(z)
    found["check"] = lambda: np.array(str(auxcal.check(fitted, z[:200]).as_json()))
    found["adapt"] = lambda: fitted.adapt(z[:200], if_new="warn").predict_confidence(z)
    found["monitor"] = partial(_watch, fitted, z, y)
    found["evaluate"] = lambda: np.array([*auxcal.evaluate(confidence, correct, bootstrap=5).values()])
    found["threshold"] = lambda: np.array(thresholds.threshold_at_risk(confidence, correct, 0.95).threshold)
    found["pick"] = lambda: labelling.pick(confidence, 20, random_state=0).rows
    two = partial(auxcal.compare, auxcal.Predictions(z, y), methods=["temperature", "isotonic"], bootstrap=5)
    found["compare"] = lambda: np.array([entry.scores["brier"] for entry in two().entries])
    return found


def _fit_and_serve(kind: Callable[[], Any], z: Any, y: Any) -> Any:
    import torch

    from auxcal.torch import as_module

    calibrator = kind().fit(z, y)
    served = as_module(calibrator)(torch.from_numpy(z.astype(np.float32))).numpy()
    return np.concatenate([calibrator.predict_confidence(z), served])


def _watch(calibrator: Any, z: Any, y: Any) -> Any:
    import auxcal

    monitor = auxcal.Monitor(calibrator, random_state=0)
    monitor.label(monitor.update(z[:150])[:50], y[:50])
    return np.array(monitor.evidence)


def _under(setting: Setting, work: Work, alone: Work) -> str:
    expected = alone()
    with setting():
        errors, filters = np.geterr(), list(warnings.filters)
        found = work()
        if (np.geterr(), list(warnings.filters)) != (errors, filters):
            return "lost"
    return "fine" if np.array_equal(found, expected) else "silent"
