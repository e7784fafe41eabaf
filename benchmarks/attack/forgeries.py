"""Files that keep a state, of which one number or word is another, with the digest that belongs to it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.attack.files import ROWS, scored_parts
from benchmarks.attack.numbers import Case
from benchmarks.attack.states import Load, fitted, state_files

_WRONG = [float("nan"), float("inf"), -1e308, -1.0, 0, 3.0, 10**12, "text", "", None, True, [], [1, 2], {"a": 1}]
_WRONG_NUMBERS = (np.nan, np.inf, -np.inf, -1e30, 1e30, -1, 0)
_MOST_ITEMS = 4  # of a list that are forged: the others are of the same kind

Path_ = tuple[str | int, ...]


def cases() -> Iterator[tuple[str, Case]]:
    """Give forgeries of every kind of file."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for what, (data, load) in state_files(here).items():
            header, tensors = opened(here / "good.safetensors", data)
            yield from _of_file(what, here / "forged.safetensors", header, tensors, load)
        good = scored_parts(here / "parts")
        record = json.loads((good / "_auxcal.json").read_bytes())
        for where, wrong in product(places(record), _WRONG):
            told = f"manifest: {where} = {wrong!r}"
            yield told, lambda w=where, v=wrong: _score(good, with_value(record, w, v))


def _of_file(what: str, path: Path, header: Any, tensors: dict[str, Any], load: Load) -> Iterator[tuple[str, Case]]:
    def forged(new_header: Any, new_tensors: dict[str, Any]) -> str:
        path.write_bytes(sealed(new_header, new_tensors))
        return load(path)

    for where in places({name: value for name, value in header.items() if name != "digest"}):
        for wrong in _WRONG:
            yield f"{what}: {where} = {wrong!r}", lambda w=where, v=wrong: forged(with_value(header, w, v), tensors)
        yield f"{what}: without {where}", lambda w=where: forged(_without(header, w), tensors)
    for name, array in tensors.items():
        for number in _WRONG_NUMBERS if array.size else ():
            yield (
                f"{what}: {name}[0] = {number}",
                lambda a=array, n=name, v=number: forged(header, tensors | {n: _with_first(a, v)}),
            )
        with np.errstate(over="ignore"):
            narrow = array.astype(np.float16)
        others = {
            "shorter": array[..., :-1].copy(),
            "empty": array[:0].copy(),
            "deeper": array[None].copy(),
            "of whole numbers": np.nan_to_num(array).astype(np.int64),
            "of half the precision": narrow,
            "true or false": array.astype(bool),
        }
        for kind, other in others.items():
            yield f"{what}: {kind} {name}", lambda n=name, o=other: forged(header, tensors | {n: o})
        rest = {each: value for each, value in tensors.items() if each != name}
        yield f"{what}: without the array {name}", lambda r=rest: forged(header, r)


def _with_first(array: Any, value: float) -> Any:
    changed = array.copy()
    with np.errstate(all="ignore"):
        changed.flat[0] = np.float64(value).astype(array.dtype)
    return changed


def places(value: Any, here: Path_ = (), *, most_items: int = _MOST_ITEMS) -> Iterator[Path_]:
    """Give where every value is, within dicts and the first items of lists."""
    if here:
        yield here
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:most_items]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield from places(inner, (*here, key), most_items=most_items)


def with_value(tree: Any, where: Path_, value: Any) -> Any:
    """Return the tree with another value somewhere."""
    changed = json.loads(json.dumps(tree))
    _inner(changed, where)[where[-1]] = value
    return changed


def _without(tree: Any, where: Path_) -> Any:
    changed = json.loads(json.dumps(tree))
    del _inner(changed, where)[where[-1]]
    return changed


def _inner(tree: Any, where: Path_) -> Any:
    for key in where[:-1]:
        tree = tree[key]
    return tree


def opened(path: Path, data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of a state."""
    from safetensors import safe_open

    path.write_bytes(data)
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["auxcal"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def sealed(header: Any, tensors: dict[str, Any]) -> bytes:
    """Return the bytes of a state with the digest that belongs to it."""
    from safetensors.numpy import save

    from auxcal._core.state import digest

    header = header | {"digest": digest(header, tensors)}
    return bytes(save(tensors, metadata={"auxcal": json.dumps(header)}))


def _score(good: Path, record: Any) -> str:
    """Go on with scoring into a folder whose record is forged: whatever it says, all rows must be there after it."""
    from auxcal.tables import read_predictions, score_table

    folder = good.with_name("forged")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    (folder / "_auxcal.json").write_text(json.dumps(record))
    score_table(fitted(), good.with_name("parts"), out=folder)
    return "fine" if len(read_predictions(folder)) == 2 * ROWS else "lost"
