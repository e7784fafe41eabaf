"""A fuzzer on the readers of all formats and on all files that keep a state, for a minute: good files, damaged.

Hypothesis draws the damage. A state's header is damaged as JSON too, with the digest that then belongs to it: otherwise
the digest would refuse all of it at once.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.attack.files import good_files, read
from benchmarks.attack.forgeries import opened, places, sealed, with_value
from benchmarks.attack.numbers import Case
from benchmarks.attack.states import Load, state_files
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SECONDS = 60.0
_AT_ONCE = 25  # examples of one case

_EDITS = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "delete", "repeat"]),
        st.floats(0, 1),
        st.integers(1, 40),
        st.one_of(
            st.binary(min_size=1, max_size=40), st.sampled_from([b"\0", b"\n", b"\r", b'"', b",", b"\xff", b"\x7f"])
        ),
    ),
    min_size=1,
    max_size=5,
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def cases() -> Iterator[tuple[str, Case]]:
    """Give damaged files until the time is up; a case is some examples of one kind of file."""
    end = time.monotonic() + SECONDS
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        formats, states = good_files(here), state_files(here)
        number = 0
        while time.monotonic() < end:
            for ending, data in formats.items():
                yield f"{ending}: {number}", lambda e=ending, d=data, n=number: _try_format(here, e, d, n)
            for what, (data, load) in states.items():
                yield f"{what}: {number}", lambda d=data, f=load, n=number: _try_state(here, d, f, n)
            number += 1


def _drawn(seed: int, *strategies: st.SearchStrategy[Any]) -> Any:
    """Return a decorator that runs a function on so many examples, others for each seed."""
    from hypothesis import seed as seeded

    def decorate(function: Any) -> None:
        quick = settings(
            max_examples=_AT_ONCE,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        seeded(seed)(quick(given(*strategies)(function)))()

    return decorate


def _try_format(folder: Path, ending: str, data: bytes, number: int) -> str:
    from auxcal import AuxcalError

    @_drawn(number, _EDITS)
    def _(edits: Any) -> None:
        with contextlib.suppress(AuxcalError):
            read(folder, ending, _edited(data, edits))

    return "fine"


def _try_state(folder: Path, data: bytes, load: Load, number: int) -> str:
    from auxcal import AuxcalError

    path = folder / "state.safetensors"
    header, tensors = opened(path, data)
    where = list(places({name: value for name, value in header.items() if name != "digest"}))
    outcomes = set()

    @_drawn(number, _EDITS, st.booleans(), st.sampled_from(where), _VALUES)
    def _(edits: Any, in_header: bool, place: Any, value: Any) -> None:
        changed = sealed(with_value(header, place, value), tensors) if in_header else _edited(data, edits)
        path.write_bytes(changed)
        with contextlib.suppress(AuxcalError):
            outcomes.add(load(path))

    return "silent" if "silent" in outcomes else "fine"


def _edited(data: bytes, edits: Any) -> bytes:
    for kind, share, length, new in edits:
        place = int(share * len(data))
        match kind:
            case "replace":
                data = data[:place] + new + data[place + len(new) :]
            case "insert":
                data = data[:place] + new + data[place:]
            case "delete":
                data = data[:place] + data[place + length :]
            case _:
                data = data[:place] + data[place : place + length] + data[place:]
    return data
