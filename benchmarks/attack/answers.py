"""Signals for logits: extreme tables, tables that differ from those of the fit, and damaged files of answers."""

from __future__ import annotations

import datetime
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.attack.files import damages
from benchmarks.attack.numbers import Case

_ROWS = 120
_FIXTURES = Path(__file__).parents[2] / "tests" / "llm" / "fixtures"
_WRONG = (None, True, -1, 1e308, 10**400, "", "\x00", "NaN", [], [[]], {}, {"a": {}}, [None], float("nan"))
"""What stands in a record where something else is expected."""

Signals = Any


def cases() -> Iterator[tuple[str, Case]]:
    """Give the attacks on calibrators of signals, and on what reads answers of language models."""
    for name, (signals, correct) in tables().items():
        yield f"fit: {name}", partial(_fit, signals, correct)
    for name, signals in later_tables().items():
        yield f"score: {name}", partial(_score, signals)
    with tempfile.TemporaryDirectory() as folder:
        for fixture in sorted(_FIXTURES.iterdir()):
            data, path = fixture.read_bytes(), Path(folder) / f"damaged{fixture.suffix}"
            for name, damage in damages().items():
                yield f"{fixture.name}: {name}", partial(_read, path, damage(data), len(_answers(fixture)))
            for said, record in _forged(data, fixture.suffix):
                yield f"{fixture.name}: {said}", partial(_read_any, path, record)


@cache
def _good() -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(7)
    score, topic = rng.normal(size=_ROWS), rng.choice(["law", "maths", "art"], _ROWS)
    right = rng.random(_ROWS) < 1 / (1 + np.exp(-score - (topic == "law")))
    return {"score": score, "topic": topic, "length": rng.integers(1, 900, _ROWS)}, right


def tables() -> dict[str, tuple[Signals, Any]]:
    """Return signals and what was right, by name."""
    good, right = _good()
    rng = np.random.default_rng(8)
    noise = rng.normal(size=_ROWS)
    found: dict[str, tuple[Signals, Any]] = {name: (good | {"more": each}, right) for name, each in _columns().items()}
    for scale in (1e-320, 1e-38, 1e-12, 1e12, 1e38, 1e300):
        found[f"times {scale:g}"] = {"score": good["score"] * scale}, right
    found["all right"] = good, np.ones(_ROWS, dtype=bool)
    found["all wrong"] = good, np.zeros(_ROWS, dtype=bool)
    found["one wrong"] = good, np.arange(_ROWS) != 3
    found["correct as text"] = good, right.astype(str)
    found["correct as 0.0 and 1.0"] = good, right.astype(float)
    found["correct with a gap"] = good, np.where(np.arange(_ROWS) == 3, np.nan, right)
    found["correct beyond 1"] = good, right.astype(int) * 2
    found["correct too short"] = good, right[:-1]
    found["no columns"] = {}, right
    found["columns of other lengths"] = good | {"more": noise[:-1]}, right
    found["names that are no text"] = {0: noise, 1.5: noise, None: noise}, right
    found["an empty name"] = {"": noise}, right
    found["names with quotes and commas"] = {'a,"b"\n': noise, "\x00": noise}, right
    found["a matrix"] = np.column_stack([noise, noise**2]), right
    found["a matrix of objects"] = np.column_stack([noise, noise]).astype(object), right
    found["a vector"] = noise, right
    found["a number"] = 3.0, right
    found["text"] = "score", right
    found["three dimensions"] = noise.reshape(-1, 1, 1), right
    found["fifty columns"] = {f"s{i}": rng.normal(size=_ROWS) for i in range(50)}, right
    for n in (0, 1, 2, 3, 5, 14):
        found[f"{n} rows"] = {name: column[:n] for name, column in good.items()}, right[:n]
    return found


def _columns() -> dict[str, Any]:
    """Return columns that stand beside good ones."""
    _, right = _good()
    rng = np.random.default_rng(9)
    noise = rng.normal(size=_ROWS)
    words = np.array([f"level {i}" for i in range(_ROWS)])
    return {
        "a constant": np.ones(_ROWS),
        "only gaps": np.full(_ROWS, np.nan),
        "half gaps": np.where(noise > 0, np.nan, noise),
        "one number": np.where(np.arange(_ROWS) == 5, 1.0, np.nan),
        "infinities": np.where(noise > 1, np.inf, np.where(noise < -1, -np.inf, noise)),
        "the label itself": right,
        "the label as text": np.where(right, "yes", "no"),
        "the label with noise of 1e-9": right + 1e-9 * noise,
        "heavy tails": rng.standard_cauchy(_ROWS) ** 5,
        "one outlier": np.where(np.arange(_ROWS) == 5, 1e300, noise),
        "neighbours in float64": 1 + np.arange(_ROWS) * np.finfo(float).eps,
        "a level for each row": words,
        "one level": np.full(_ROWS, "same"),
        "empty text": np.where(noise > 0, "", "full"),
        "text with gaps": np.array([None if each > 0 else "word" for each in noise], dtype=object),
        "text and numbers": np.array([1.5 if each > 0 else "word" for each in noise], dtype=object),
        "booleans with gaps": np.array([None if each > 1 else bool(each > 0) for each in noise], dtype=object),
        "long text": np.array(["x" * 100_000, "y"] * (_ROWS // 2)),
        "text with zeros inside": np.array(["a\x00b", "\ud7ff", "\U0001f600"] * (_ROWS // 3)),
        "lone surrogates": np.array(["\ud800", "b"] * (_ROWS // 2), dtype=object),
        "lists": [[1, 2]] * _ROWS,
        "dicts": [{"a": 1}] * _ROWS,
        "dates": [datetime.date(2020, 1, 1)] * _ROWS,
        "times": np.full(_ROWS, np.datetime64("2020-01-01")),
        "complex numbers": noise + 1j,
        "huge integers": [10**400] * _ROWS,
        "bytes": [b"a"] * _ROWS,
    }


def later_tables() -> dict[str, Signals]:
    """Return tables to score after a fit on good ones, by name."""
    good, _ = _good()
    nothing = dict.fromkeys(good, np.full(_ROWS, np.nan))
    return {
        "the same": good,
        "another order": dict(reversed(good.items())),
        "a column more": good | {"more": good["score"]},
        "a column less": {"score": good["score"], "topic": good["topic"]},
        "another spelling": {name.upper(): column for name, column in good.items()},
        "new levels": good | {"topic": np.array(["new"] * _ROWS)},
        "numbers for text": good | {"topic": good["score"]},
        "text for numbers": good | {"score": good["topic"]},
        "numbers as text": good | {"score": good["score"].astype(str)},
        "gaps everywhere": nothing | {"topic": np.array([None] * _ROWS, dtype=object)},
        "infinities": good | {"score": np.full(_ROWS, np.inf)},
        "far away": good | {"score": np.full(_ROWS, 1e308), "length": np.full(_ROWS, -1e308)},
        "no rows": {name: column[:0] for name, column in good.items()},
        "no columns": {},
        "a matrix": np.zeros((_ROWS, 3)),
        "logits of ten classes": np.zeros((_ROWS, 10)),
    }


@cache
def _fitted() -> Any:
    from auxcal import SignalCalibrator

    good, right = _good()
    return SignalCalibrator(random_state=0).fit(good, right)


def _fit(signals: Signals, correct: Any) -> str:
    """Fit, score, save, load and score again; a confidence in no doubt from so few answers is a silent error."""
    import auxcal

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator = auxcal.SignalCalibrator(random_state=0).fit(signals, correct)
        confidence = np.asarray(calibrator.predict_confidence(signals))
        with tempfile.TemporaryDirectory() as folder:
            calibrator.save(Path(folder) / "a.safetensors")
            again = auxcal.load(Path(folder) / "a.safetensors").predict_confidence(signals)
    said = [str(each.message) for each in caught]
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if not ((confidence >= 0) & (confidence <= 1)).all() or not np.array_equal(confidence, again):
        return "silent"
    few = len(confidence) < 15 and not any("answers" in each or "rows" in each for each in said)
    sure = bool(((confidence < 1e-4) | (confidence > 1 - 1e-4)).any()) and not any("too good" in each for each in said)
    return "silent" if few or sure else "fine"


def _score(signals: Signals) -> str:
    confidence = np.asarray(_fitted().predict_confidence(signals))
    return "fine" if ((confidence >= 0) & (confidence <= 1)).all() else "silent"


def _answers(path: Path) -> Any:
    from auxcal import llm

    return llm.read(path)


def _read(path: Path, data: bytes, n_rows: int) -> str:
    """Read a damaged file: all of its answers, a warning, or an error of ours."""
    path.write_bytes(data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _answers(path)
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return "fine" if len(found.all_ids) >= n_rows or caught else "lost"


def _read_any(path: Path, data: bytes) -> str:
    """Read a file with a forged record: what comes is finite, or an error of ours."""
    path.write_bytes(data)
    found = _answers(path)
    probable = found.signals.get("probability")
    in_range = probable is None or bool(((probable >= 0) & (probable <= 1 + 1e-9) | np.isnan(probable)).all())
    return "fine" if in_range and (found.logits is None or np.isfinite(found.logits).all()) else "silent"


def _forged(data: bytes, ending: str) -> Iterator[tuple[str, bytes]]:
    """Give a file whose first record has something else in one place, for every place and every kind of value."""
    lines = [data] if ending == ".json" else data.splitlines()
    record = json.loads(lines[0])
    for where in _places(record):
        for wrong in _WRONG:
            first = json.dumps(_with(record, where, lambda _, w=wrong: w)).encode()
            yield f"{'.'.join(map(str, where))} = {str(wrong)[:20]!r}", b"\n".join([first, *lines[1:]])


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of every value of a record; of a list only that of the first."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, below in items:
        yield (*above, key)
        yield from _places(below, (*above, key))


def _with(value: Any, where: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not where:
        return change(value)
    copy = value.copy()
    copy[where[0]] = _with(value[where[0]], where[1:], change)
    return copy
