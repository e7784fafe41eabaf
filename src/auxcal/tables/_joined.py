"""One source of several: the parts of a table, one after the other, and the keys of their partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal.tables._format import Batch, Columns, InPart, Source
from auxcal.tables._parts import Part

_NULL = "null"  # Arrow's type of a column that has no value


def joined_source(parts: Sequence[Part], open_part: Callable[[Part], AbstractContextManager[Source]]) -> Source:
    """Return the rows of all parts; one is open at a time."""
    filled = [part for part in parts if not is_blank(part)] or parts
    total = max(sum(part.size for part in filled), 1)
    with open_part(filled[0]) as first:
        names, passable = first.names, first.passable

    def settled(kinds: dict[str, Any], later: Sequence[Part]) -> dict[str, Any]:
        """Give columns without a single value the type that they have in a later part."""
        for part in later:
            if not (untyped := [name for name, kind in kinds.items() if str(kind) == _NULL]):
                break
            with open_part(part) as source:
                check_names(source.names, part, names, filled[0])
                kinds |= _kinds(next(iter(source.batches([], untyped))), untyped)
        return kinds

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        before, rows = 0, 0  # bytes of the parts that are read, and rows that were given
        kinds: dict[str, Any] = {}
        for place, part in enumerate(filled):
            with open_part(part) as source:
                check_names(source.names, part, names, filled[0])
                start = rows
                for batch in source.batches(numbers, others):
                    last = batch
                    if len(batch):
                        kinds = kinds or settled(_kinds(batch, others), filled[place + 1 :])
                        done = (before + (batch.done or 0) * part.size) / total
                        yield Batch(_alike(batch.columns, kinds), done, InPart(str(part.file), rows - start))
                        rows += len(batch)
            before += part.size
        if not rows:
            yield last

    return Source(names, batches, passable)


def is_blank(part: Part) -> bool:
    """Whether a part is a table in text without a single letter, as engines write one that has no rows."""
    is_file = not isinstance(part.file, Path) or part.file.is_file()  # a pipe, or a link to nowhere, has no size either
    return part.size == 0 and is_file and part.file.suffix.lower() == ".csv"


def check_names(found: Sequence[str], part: Part, expected: Sequence[str], first: Part) -> None:
    """Refuse a part with other columns than the first."""
    missing = [name for name in expected if name not in found]
    new = [name for name in found if name not in expected]
    if missing or new:
        differ = [
            f"{verb} {', '.join(map(repr, some[:3]))}" for verb, some in (("lacks", missing), ("adds", new)) if some
        ]
        raise InvalidInputError(
            f"expected the columns of the first part, {first.file}; this one {' and '.join(differ)}. Name the parts "
            f"that belong together, or repair it."
        )


def with_keys(source: Source, keys: Mapping[str, str]) -> Source:
    """Return a source with the keys of its partition as columns, where it has none of that name."""
    added = {name: value for name, value in keys.items() if name not in source.names}
    if not added:
        return source

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        read = [[name for name in names if name not in added] for names in (numbers, others)]
        if not any(read):  # some column must tell how many rows there are
            read = [[], [source.names[0]]]
        for batch in source.batches(*read):
            n = len(next(iter(batch.columns.values())))
            wanted = {name: added[name] for name in (*numbers, *others) if name in added}
            repeated = {name: np.full(n, value, dtype=object) for name, value in wanted.items()}
            yield Batch({**batch.columns, **repeated}, batch.done)

    return Source((*source.names, *added), batches, (*source.passable, *added))


def _kinds(batch: Batch, names: Sequence[str]) -> dict[str, Any]:
    """Return the types of columns that are pyarrow arrays."""
    return {name: getattr(batch.columns[name], "type", None) for name in names}


def _alike(columns: Columns, kinds: Mapping[str, Any]) -> Columns:
    """Return columns of the types of the first part, for parts whose missing values gave them another one."""
    other = {name: kind for name, kind in kinds.items() if kind is not None and columns[name].type != kind}
    if not other:
        return columns
    from auxcal.tables._arrow import cast

    return {**columns, **{name: cast(columns[name], kind, name) for name, kind in other.items()}}
