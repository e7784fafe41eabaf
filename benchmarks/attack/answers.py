"""Files of language models' answers, damaged or with one value forged."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.attack.files import damages
from benchmarks.attack.forgeries import places, with_value
from benchmarks.attack.numbers import Case

_FIXTURES = Path(__file__).parents[2] / "tests" / "llm" / "fixtures"
_WRONG = (None, True, -1, 1e308, 10**400, "", "\x00", "NaN", [], [[]], {}, {"a": {}}, [None], float("nan"))
"""What stands in a record where something else is expected."""


def cases() -> Iterator[tuple[str, Case]]:
    """Give the attacks on what reads answers of language models."""
    with tempfile.TemporaryDirectory() as folder:
        for fixture in sorted(_FIXTURES.iterdir()):
            data, path = fixture.read_bytes(), Path(folder) / f"damaged{fixture.suffix}"
            for name, damage in damages().items():
                yield f"{fixture.name}: {name}", partial(_read, path, damage(data), len(_answers(fixture)))
            for said, record in _forged(data, fixture.suffix):
                yield f"{fixture.name}: {said}", partial(_read_any, path, record)


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
    for where, wrong in product(places(record, most_items=1), _WRONG):
        first = json.dumps(with_value(record, where, wrong)).encode()
        yield f"{'.'.join(map(str, where))} = {str(wrong)[:20]!r}", b"\n".join([first, *lines[1:]])
