"""Files that keep a state: calibrators with all that they carry, and monitors; and how each is used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
Load = Callable[[Path], str]
"""Loads a file, uses it, and returns "fine" or "silent"."""


@cache
def rows() -> tuple[Any, Any]:
    """Return logits of three classes, and y."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 3)).astype(np.float32) * 2
    return z, (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)


@cache
def fitted() -> Any:
    """Return a small calibrator."""
    import auxcal

    return auxcal.TemperatureScaling().fit(*rows())


def state_files(folder: Path) -> dict[str, tuple[bytes, Load]]:
    """Return the bytes of a good file of each kind, and what loads it."""
    found: dict[str, tuple[bytes, Load]] = {
        path.stem: (path.read_bytes(), use_calibrator) for path in sorted(GOLDEN.glob("*.safetensors"))
    }
    from auxcal import Certificate, Monitor, SignalCalibrator
    from auxcal.thresholds import threshold_at_risk
    from auxcal.thresholds.certificate import FoundOn

    z, y = rows()
    calibrator = fitted()
    confidence, correct = calibrator.predict_confidence(z), z.argmax(axis=1) == y
    adapted = calibrator.adapt(z[y != 0][:200], if_new="warn")
    found_on = FoundOn.of(confidence, z.argmax(axis=1), 3)
    promised = threshold_at_risk(confidence, correct, 0.5)
    adapted.certificate_ = Certificate.of(promised, n_rows=300, found_on=found_on)
    monitor = Monitor(calibrator, keep=50)
    monitor.update(z[:100], y[:100])
    monitor.update(z[100:150])
    answers = {
        "score": z[:, 0],
        "length": np.where(y == 1, np.nan, z[:, 1]),
        "topic": np.array(["law", "art", "law"])[y],
    }
    for name, kept, load in (
        ("signals", SignalCalibrator(random_state=0).fit(answers, correct), use_signals),
        ("adapted, with a certificate", adapted, use_calibrator),
        ("monitor", monitor, partial(use_monitor, calibrator)),
    ):
        path = folder / "state.safetensors"
        kept.save(path)
        found[name] = path.read_bytes(), load
    return found


def use_calibrator(path: Path) -> str:
    """Load a calibrator, score with it, and show it; check rows with its reference, if it has one."""
    import auxcal

    loaded = auxcal.load(path)
    n_classes, d = loaded.n_features_in_, loaded.n_further_features_
    if n_classes > 10_000 or d > 10_000:
        return "fine"  # rows of so many take the memory, not the file
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20, n_classes)).astype(np.float32)
    if getattr(getattr(loaded, "inputs_", None), "kind", None) == "probabilities":
        z = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    features = (rng.normal(size=(20, d)).astype(np.float32),) if d else ()
    confidence = np.asarray(loaded.predict_confidence(z, *features))
    good = bool(((confidence >= 0) & (confidence <= 1)).all())
    if hasattr(loaded, "predict_proba"):
        proba = np.asarray(loaded.predict_proba(z, *features))
        good &= bool(((proba >= 0) & (proba <= 1 + 1e-6)).all() and np.allclose(proba.sum(axis=1), 1, atol=1e-3))
    loaded._repr_html_()
    if getattr(loaded, "certificate_", None) is not None:
        str(loaded.certificate_), loaded.certificate_.accepts(confidence)
        if hasattr(loaded.certificate_, "holds_for"):
            loaded.certificate_.holds_for(confidence, z.argmax(axis=1))
    if getattr(loaded, "fit_rows_", None) is not None:
        loaded.fit_rows_.contain(z, *(features or (None,)))
    if getattr(loaded, "reference_", None) is not None:
        auxcal.check(loaded, z, *features)
    return "fine" if good else "silent"


def use_signals(path: Path) -> str:
    """Load a calibrator of signals, score with it, and check answers."""
    import auxcal

    loaded = auxcal.load(path)
    names, kinds = loaded.columns.names, loaded.columns.kinds
    if len(names) > 100:
        return "fine"  # so many columns take the memory, not the file
    rng = np.random.default_rng(1)
    answers = {
        name: rng.choice(["law", "new"], 20) if kind == "category" else rng.random(20)
        for name, kind in zip(names, kinds, strict=True)
    }
    confidence = np.asarray(loaded.predict_confidence(answers))
    loaded._repr_html_()
    if getattr(loaded, "reference_", None) is not None:
        auxcal.check(loaded, answers)
    return "fine" if ((confidence >= 0) & (confidence <= 1)).all() else "silent"


def use_monitor(calibrator: Any, path: Path) -> str:
    """Load a monitor, and go on with it."""
    from auxcal import Monitor

    monitor = Monitor.load(path, calibrator)
    z, y = rows()
    monitor.update(z[150:200])
    monitor.update(z[200:], y[200:])
    str(monitor), monitor.alarm
    evidence = np.array([monitor.evidence.data, monitor.evidence.labels], dtype=float)
    return "fine" if (evidence >= 0).all() and monitor.evidence.n_rows >= 150 else "silent"
