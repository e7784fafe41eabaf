"""What every calibrator promises: one function for each check."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_info

from auxcal._core.arrays import NO_CLASS, Floats
from auxcal._core.chunks import CHUNK_BYTES
from auxcal._core.errors import AuxcalWarning, InvalidInputError, NotFittedError
from auxcal._core.extras import is_installed
from auxcal.calibrators import Calibrator, ProbaCalibrator, Uncalibrated
from auxcal.metrics import brier
from auxcal.persistence import from_bytes, load, to_bytes
from auxcal.predictions import Predictions
from auxcal.testing._serving_checks import SERVING_CHECKS, run_in_numpy, what_a_user_has_set_changes_nothing
from auxcal.testing._trials import fit, refit, require, require_confidence, require_error, sample


def an_unfitted_one_refuses(calibrator: Calibrator) -> None:
    """Before `fit` there is no confidence, and nothing to save."""
    new, logits = clone(calibrator), sample().logits
    require_error(NotFittedError, lambda: new.predict_confidence(logits), "an unfitted calibrator was scored")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "unfitted.safetensors"
        require_error(NotFittedError, lambda: new.save(path), "an unfitted calibrator was saved")
        require(not path.exists(), "a refused save must leave no file")


def a_failed_fit_stays_unfitted(calibrator: Calibrator) -> None:
    """A fit that raises leaves the calibrator unfitted, even if it was fitted before."""
    data = sample()
    fitted = fit(calibrator, data)
    bad = data.logits.copy()
    bad[3, 1] = np.nan
    require_error(InvalidInputError, lambda: fitted.fit(bad, data.y), "NaN in logits was accepted by fit")
    require_error(NotFittedError, lambda: fitted.predict_confidence(data.logits), "a failed fit left a fitted state")


def malformed_input_is_explained(calibrator: Calibrator) -> None:
    """Bad input raises an `InvalidInputError` that names what was expected, what was received and what to do."""
    data = sample()
    z, y = data.logits, data.y
    fitted = fit(calibrator, data)
    nan, inf = z.copy(), z.copy()
    nan[0, 0], inf[0, 0] = np.nan, -np.inf
    beyond = y.copy()
    beyond[0] = z.shape[1]
    attempts: dict[str, Callable[[], Any]] = {
        "NaN": lambda: fitted.predict_confidence(nan),
        "infinity": lambda: fitted.predict_confidence(inf),
        "a single row without its axis": lambda: fitted.predict_confidence(z[0]),
        "another number of classes": lambda: fitted.predict_confidence(z[:, :-1]),
        "no rows": lambda: fitted.predict_confidence(z[:0]),
        "strings": lambda: fitted.predict_confidence(z.astype(str)),
        "a label beyond K": lambda: clone(calibrator).fit(z, beyond),
        "float labels": lambda: clone(calibrator).fit(z, y.astype(float)),
        "fewer labels than rows": lambda: clone(calibrator).fit(z, y[:-1]),
        "no rows to fit": lambda: clone(calibrator).fit(z[:0], y[:0]),
        "no class": lambda: clone(calibrator).fit(z[:, :0], np.zeros(len(z), dtype=int)),
        "a select part of another K": lambda: clone(calibrator).fit(z, y, select=(z[:, :-1], np.minimum(y, 0))),
    }
    for what, attempt in attempts.items():
        message = require_error(InvalidInputError, attempt, f"{what} must be refused")
        require("got" in message and len(message) > 40, f"the error for {what} must say what came: {message!r}")


def degenerate_data_fit(calibrator: Calibrator) -> None:
    """K = 2, an absent class, every row correct, every row wrong, no row of any class: all give a confidence."""
    data = sample()
    z, right = data.logits, data.prediction
    cases = {
        "K = 2": sample(n_classes=2),
        "[0, z], as one output z gives": Predictions(sample(n_classes=2).logits * [0, 1], sample(n_classes=2).y),
        "a class absent from y": Predictions(z, np.where(data.y == 1, 0, data.y)),
        "every row correct": Predictions(z, right),
        "every row wrong": Predictions(z, (right + 1) % z.shape[1]),
        "every row NO_CLASS": Predictions(z, np.full(len(z), NO_CLASS)),
        "equal logits": Predictions(np.ones_like(z), np.abs(data.y)),
    }
    for what, case in cases.items():
        confidence = fit(calibrator, case).predict_confidence(case.logits)
        require_confidence(confidence, len(case), f"with {what}")


def extreme_logits_score(calibrator: Calibrator) -> None:
    """Logits of ±1e4 give a valid confidence, in the fit and after it."""
    data = sample()
    extreme = np.random.default_rng(0).choice([-1e4, 0.0, 1e4], size=data.logits.shape).astype(np.float32)
    require_confidence(fit(calibrator, data).predict_confidence(extreme), len(extreme), "at logits of ±1e4")
    fitted = fit(calibrator, Predictions(extreme, data.y))
    require_confidence(fitted.predict_confidence(extreme), len(extreme), "fitted at logits of ±1e4")


def probabilities_add_up(calibrator: Calibrator) -> None:
    """Confidence is in [0, 1]; rows of `predict_proba` are distributions of K or K + 1 classes."""
    data = sample()
    fitted = fit(calibrator, data)
    confidence = fitted.predict_confidence(data.logits)
    require_confidence(confidence, len(data), "after fit")
    require(confidence.dtype == data.logits.dtype, f"float32 in must be float32 out; got {confidence.dtype}")
    if isinstance(fitted, ProbaCalibrator):
        proba = fitted.predict_proba(data.logits)
        k = data.n_classes
        require(proba.shape in ((len(data), k), (len(data), k + 1)), f"predict_proba gave shape {proba.shape}")
        require(bool(np.all(proba >= 0)), "predict_proba must not be negative")
        require(np.allclose(proba.sum(axis=1), 1, atol=1e-5), "rows of predict_proba must add up to 1")


def rows_are_independent(calibrator: Calibrator) -> None:
    """The confidence of a row does not depend on the rows beside it."""
    data = sample()
    fitted = fit(calibrator, data)
    whole = fitted.predict_confidence(data.logits)
    backwards = fitted.predict_confidence(data.logits[::-1])[::-1]
    alone = np.concatenate([fitted.predict_confidence(data.logits[row : row + 1]) for row in range(50)])
    require(np.allclose(whole, backwards, atol=1e-6), "the order of the rows changes the confidence")
    require(np.allclose(whole[:50], alone, atol=1e-6), "a row alone has another confidence than among others")


def a_fit_does_no_harm(calibrator: Calibrator) -> None:
    """On overconfident logits of any scale, the Brier score gets no worse; a fit that did not move warns."""
    for scale in (0.01, 1, 100):
        data = sample(n=1000)
        data = Predictions(data.logits * np.float32(scale), data.y)
        fitted = fit(calibrator, data)
        before = brier(Uncalibrated().fit(data.logits, data.y).predict_confidence(data.logits), data.correct)
        after = brier(fitted.predict_confidence(data.logits), data.correct)
        require(
            after <= before + 1e-6 or not fitted.converged_,
            f"logits times {scale}: the Brier score went from {before:.4f} to {after:.4f}, and converged_ is True",
        )


def a_refit_forgets(calibrator: Calibrator) -> None:
    """A second fit on other data is the same as a first one, and the same `random_state` gives the same bits."""
    first, second = sample(), sample(seed=1)
    twice = refit(fit(calibrator, first), second)
    once = fit(calibrator, second)
    require(
        np.array_equal(twice.predict_confidence(first.logits), once.predict_confidence(first.logits)),
        "two fits on the same data with the same random_state must agree to the bit, whatever was fitted before",
    )


def a_refit_is_seen_at_once(calibrator: Calibrator) -> None:
    """While it is fitted again, another thread scores with the fit before or with the new one, never with a mixture."""
    shared, logits, begun, done = fit(calibrator, sample()), sample().logits[:5], Event(), Event()
    before, interval = shared.predict_confidence(logits), sys.getswitchinterval()
    with ThreadPoolExecutor(1) as pool:
        seen = pool.submit(_scored_until, begun, done, shared, logits)
        try:
            begun.wait()
            sys.setswitchinterval(1e-5)  # so that threads take turns within the fastest fit too
            refit(shared, sample(seed=1))
        finally:
            sys.setswitchinterval(interval)
            done.set()
    whole = {before.tobytes(), shared.predict_confidence(logits).tobytes()}
    require(seen.result() <= whole, "a fit must replace the fitted state at once: a thread has seen a part of two fits")


def nothing_else_changes(calibrator: Calibrator) -> None:
    """Global random states, thread counts, warning filters and the inputs are as before."""
    data = sample()
    before = _global_state(data)
    fit(calibrator, data).predict_confidence(data.logits)
    for name, state in _global_state(data).items():
        require(state == before[name], f"fit or predict changed {name}")


def arrays_of_every_kind_agree(calibrator: Calibrator) -> None:
    """Lists, NumPy and, where torch is installed, tensors of any precision, with or without grad, give the same fit."""
    data = sample()
    z = data.logits.astype(np.float16).astype(np.float32)  # exact in every dtype below
    expected = refit(clone(calibrator), Predictions(z, data.y)).predict_confidence(z)
    kinds: dict[str, tuple[Any, Any]] = {
        "a list": (z.tolist(), data.y.tolist()),
        "float64": (z.astype(np.float64), data.y),
    }
    if is_installed("torch"):
        import torch

        tensor = torch.tensor(z)
        kinds["a tensor with grad"] = tensor.clone().requires_grad_(), torch.tensor(data.y)
        kinds["a float16 tensor"] = tensor.half(), torch.tensor(data.y)
    for what, (logits, y) in kinds.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuxcalWarning)
            confidence = clone(calibrator).fit(logits, y).predict_confidence(logits)
        kind = type(logits) if what.endswith(("tensor", "tensor with grad")) else np.ndarray
        require(isinstance(confidence, kind), f"{what} must come out as {kind.__name__}")
        require(np.allclose(confidence, expected, atol=1e-4), f"{what} gives another fit than float32 NumPy")


def a_saved_one_is_the_same(calibrator: Calibrator) -> None:
    """Saved and loaded, here and in a fresh process, it gives the same bits."""
    data = sample()
    fitted = fit(calibrator, data)
    expected = fitted.predict_confidence(data.logits)
    with tempfile.TemporaryDirectory() as folder:
        path, rows, scored = (Path(folder) / name for name in ("c.safetensors", "logits.npy", "confidence.npy"))
        fitted.save(path)
        require(np.array_equal(load(path).predict_confidence(data.logits), expected), "load gives other bits than save")
        np.save(rows, data.logits)
        module = type(calibrator).__module__
        if module != "__main__":
            script = (
                f"import sys, numpy as np, auxcal, {module}\n"
                "path, rows, scored = sys.argv[1:]\n"
                "np.save(scored, auxcal.load(path).predict_confidence(np.load(rows)))\n"
            )
            subprocess.run([sys.executable, "-c", script, path, rows, scored], check=True)
            require(np.array_equal(np.load(scored), expected), "a fresh process gives other bits")


def _scored_until(begun: Event, done: Event, calibrator: Calibrator, logits: Floats) -> set[bytes]:
    """Score again and again, and return every confidence that was seen."""
    seen = set()
    begun.set()
    while not done.is_set():
        seen.add(calibrator.predict_confidence(logits).tobytes())
    return seen


def _global_state(data: Predictions) -> dict[str, Any]:
    return _torch_state() | {  # first: importing torch starts thread pools
        "numpy.random": str(np.random.get_state()),  # noqa: NPY002
        "random": random.getstate(),
        "the thread pools": [(pool["prefix"], pool["num_threads"]) for pool in threadpool_info()],
        "the warning filters": list(warnings.filters),
        "NumPy's error handling": np.geterr(),
        "logits": data.logits.tobytes(),
        "y": data.y.tobytes(),
    }


def _torch_state() -> dict[str, Any]:
    if not is_installed("torch"):
        return {}
    import torch

    return {"torch's random state": torch.get_rng_state().tolist(), "torch's threads": torch.get_num_threads()}


def parameters_survive_a_clone(calibrator: Calibrator) -> None:
    """`__init__` only stores its arguments, and `clone` and `get_params` return them."""
    params = calibrator.get_params(deep=False)
    built = type(calibrator)(**params)
    for name, value in params.items():
        require(getattr(built, name) is value, f"__init__ must store {name} as it is given, and nothing else")
    require(str(clone(calibrator).get_params()) == str(calibrator.get_params()), "clone must keep every parameter")


def parameters_are_read_by_fit_alone(calibrator: Calibrator) -> None:
    """Parameters that are set after a fit change nothing before the next one: no score, no program, no file."""
    data = sample()
    fitted = fit(calibrator, data)
    before = fitted.predict_confidence(data.logits), run_in_numpy(fitted, data.logits, None)[1]
    for name, value in fitted.get_params(deep=False).items():
        for other in _other_values(fitted, name, value):
            fitted.set_params(**{name: other})
            after = fitted.predict_confidence(data.logits), run_in_numpy(fitted, data.logits, None)[1]
            same = all(map(np.array_equal, before, after))
            require(same, f"{name}={other!r}, set after the fit, changes the confidence: read it in fit alone")
            if type(other) is not object:
                loaded = from_bytes(to_bytes(fitted)).predict_confidence(data.logits)
                require(np.array_equal(loaded, before[0]), f"{name}={other!r}, set after the fit, changes the file")
        fitted.set_params(**{name: value})


def _other_values(calibrator: Calibrator, name: str, value: Any) -> list[Any]:
    """Return valid values of a parameter where its kind determines them, else one that nothing can be done with."""
    hint = get_type_hints(type(calibrator).__init__).get(name)
    others = [other for other in get_args(hint) if get_origin(hint) is Literal and other != value]
    if isinstance(value, int | float):
        others.append(value + 1)
    return others or [object()]


_TOLERANCE = 1e-3  # of any confidence, by judgement: what is left where a search ends short of the last digit


def weights_are_counted_or_refused(calibrator: Calibrator) -> None:
    """A row of weight 2 is the same as two rows that stay together, wherever they are, and one of weight 0 as none.

    Networks are trained on the same loss, but in other batches. A method that cross-fits may count copies that stay
    together once; groups of one row are draws, which come into other folds. Both only need to be
    closer to the fit on repeated rows than a fit without weights, on average.
    """
    data, rng = sample(), np.random.default_rng(1)
    weight = rng.integers(3, size=len(data)) + 2 * ~data.correct  # more for wrong rows, so that they change every fit
    if not calibrator.uses_weights:
        message = require_error(
            InvalidInputError,
            lambda: clone(calibrator).fit(data.logits, data.y, sample_weight=weight),
            "weights were taken by a method that does not use them",
        )
        require("Leave it out" in message, f"the error for weights must say what to do: {message!r}")
        return
    rows = rng.permutation(np.repeat(np.arange(len(data)), weight))
    groups = np.arange(len(rows)) if calibrator.cross_fits else rows
    weighted, repeated, plain = (
        fit(calibrator, part).predict_confidence(data.logits)
        for part in (
            Predictions(data.logits, data.y, sample_weight=weight),
            Predictions(data.logits[rows], data.y[rows], groups=groups),
            data,
        )
    )
    off = np.abs(weighted - repeated)
    exact = not calibrator.starts_at_random and not calibrator.cross_fits
    close = off.max() <= _TOLERANCE if exact else off.mean() <= np.abs(plain - repeated).mean()
    require(close, f"a row of weight w must count like w rows: confidences differ by up to {off.max():.2g}")


def the_order_of_the_rows_does_not_matter(calibrator: Calibrator) -> None:
    """A fit on the same rows in another order is the same: the rows that are set aside are those it would choose.

    Networks are trained in random batches, so they are not compared.
    """
    if calibrator.starts_at_random:
        return
    for n_classes in (4, 2):
        data = sample(n_classes=n_classes)
        shuffled = data.take(np.random.default_rng(1).permutation(len(data)))
        one, other = (fit(calibrator, part).predict_confidence(data.logits) for part in (data, shuffled))
        off = float(np.abs(one - other).max())
        require(off <= _TOLERANCE, f"the order of the rows of the fit changes the confidence by up to {off:.2g}")


def features_are_used_or_refused(calibrator: Calibrator) -> None:
    """A method that uses features does so in fits, scores and files; any other refuses them and names the reason."""
    data = sample()
    features = _features_of(data)
    if calibrator.uses_features:
        _require_use(calibrator, data, features)
        _require_the_same_number(calibrator, data, features)
        return
    fitted = fit(calibrator, data)
    for attempt in (
        lambda: clone(calibrator).fit(data.logits, data.y, features=features),
        lambda: fitted.predict_confidence(data.logits, features),
    ):
        message = require_error(InvalidInputError, attempt, "features were taken by a method that does not use them")
        require("Leave features out" in message, f"the error for features must say what to do: {message!r}")


def _features_of(data: Predictions, d: int = 50) -> Floats:
    """Draw features; the first is closer to correctness than the logits do."""
    features = np.random.default_rng(0).normal(size=(len(data), d)).astype(np.float32)
    features[:, 0] += 2 * data.correct
    return features


def _require_use(calibrator: Calibrator, data: Predictions, features: Floats) -> None:
    fitted = fit(calibrator, Predictions(data.logits, data.y, features))
    confidence = fitted.predict_confidence(data.logits, features)
    require_confidence(confidence, len(data), "with features")
    others = fitted.predict_confidence(data.logits, features[::-1])
    require(not np.array_equal(others, confidence), "uses_features is True, and other features change nothing")
    times = 1 + CHUNK_BYTES // (data.logits.nbytes + features.nbytes)
    many = fitted.predict_confidence(np.tile(data.logits, (times, 1)), np.tile(features, (times, 1)))
    require(np.allclose(many, np.tile(confidence, times), atol=1e-6), "many rows with features give other confidences")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.safetensors"
        fitted.save(path)
        loaded = load(path).predict_confidence(data.logits, features)
        require(np.array_equal(loaded, confidence), "with features, load gives other bits than save")


def _require_the_same_number(calibrator: Calibrator, data: Predictions, features: Floats) -> None:
    z, y = data.logits, data.y
    fitted, plain = fit(calibrator, Predictions(z, y, features)), fit(calibrator, data)
    attempts: dict[str, Callable[[], Any]] = {
        "fewer features than in the fit": lambda: fitted.predict_confidence(z, features[:, 1:]),
        "no features after a fit with them": lambda: fitted.predict_confidence(z),
        "features after a fit without": lambda: plain.predict_confidence(z, features),
        "fewer rows of features than of logits": lambda: fitted.predict_confidence(z, features[1:]),
        "a select part without features": lambda: clone(calibrator).fit(z, y, select=(z, y), features=features),
    }
    for what, attempt in attempts.items():
        message = require_error(InvalidInputError, attempt, f"{what} must be refused")
        require("got" in message, f"the error for {what} must say what came: {message!r}")


CALIBRATOR_CHECKS: tuple[Callable[[Calibrator], None], ...] = (
    parameters_survive_a_clone,
    parameters_are_read_by_fit_alone,
    an_unfitted_one_refuses,
    a_failed_fit_stays_unfitted,
    malformed_input_is_explained,
    degenerate_data_fit,
    extreme_logits_score,
    probabilities_add_up,
    rows_are_independent,
    a_fit_does_no_harm,
    a_refit_forgets,
    a_refit_is_seen_at_once,
    nothing_else_changes,
    what_a_user_has_set_changes_nothing,
    arrays_of_every_kind_agree,
    a_saved_one_is_the_same,
    features_are_used_or_refused,
    weights_are_counted_or_refused,
    the_order_of_the_rows_does_not_matter,
    *SERVING_CHECKS,
)
"""What every calibrator promises. Each check is for a bug that some library of the field has."""
