"""Scored tables that are too large to be held: their tally, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from auxcal.metrics import Tally
from auxcal.tables._scored import Scored, as_scored, joined_rows, scored_spec
from auxcal.tables._scored_rows import ScoredRows, scored_reader
from auxcal.tables._sources import open_source
from auxcal.tables.spec import ScoreOptions, TableSpec

MOST_ROWS = 2**21
"""So many rows are held; more are counted."""

_AT_ONCE = 2**20  # rows of one tally, which take the least time


class Tallied(NamedTuple):
    """The tally of a scored table, and that of each slice by its value, if slices were asked for."""

    tally: Tally
    by: dict[str, Tally] | None


def read_scored_or_tally(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    by: str | None = None,
    spec: TableSpec | None = None,
    **where: Unpack[ScoreOptions],
) -> Scored | Tallied:
    """Read what `read_scored` reads; of more than two million rows the tally, so that memory does not grow with them.

    With slices it grows with their number, by 3 MB each at most. Groups need all rows, so with `group` they are held.

    Parameters
    ----------
    path, label, by, spec, **where
        As in `read_scored`.

    Returns
    -------
    Scored or Tallied
    """
    spec = scored_spec(where, spec, label)
    reader, classes = scored_reader(spec, by)
    held: list[ScoredRows] = []
    found: Tallied | None = None
    with open_source(path) as source:
        for rows in reader.batches(source):
            held.append(rows)
            if spec.group is None and sum(len(each.y) for each in held) > (MOST_ROWS if found is None else _AT_ONCE):
                found = _added(found, held)
                held.clear()
        if found is None:
            return as_scored(joined_rows(held), classes)
        classes.settle()
        return _added(found, held)


def _added(before: Tallied | None, held: Sequence[ScoredRows]) -> Tallied:
    """Return the tallies of all rows so far."""
    rows = joined_rows(held) if held else None
    if rows is not None and rows.sample_weight is not None:
        rows = rows.take(rows.sample_weight > 0)
    if rows is None or not len(rows.y):
        return before or Tallied(Tally(), None)
    whole = Tally.of(rows.confidence, rows.correct, rows.sample_weight)
    parts: dict[str, Tally] | None = None
    if rows.by is not None:
        found = Tally.by_group(rows.confidence, rows.correct, rows.by, rows.sample_weight)
        parts = {str(name): each for name, each in found.items()}
    if before is None:
        return Tallied(whole, parts)
    return Tallied(before.tally + whole, None if parts is None else _merged(before.by or {}, parts))


def _merged(first: dict[str, Tally], second: dict[str, Tally]) -> dict[str, Any]:
    return first | {name: first.get(name, Tally()) + each for name, each in second.items()}
