"""A promise that does not hold for the rows that were scored: nothing of them is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from auxcal.tables._format import Batch, Columns, Format
from auxcal.tables._manifest import digest_of
from auxcal.tables._parts import Part, part_at
from auxcal.tables._pool import Tell
from auxcal.tables._stores import File, atomic_write, on_this_machine
from auxcal.tables.scores import ACCEPTED, CONFIDENCE

Holds: TypeAlias = Callable[[], bool]
"""Asked when all rows are scored: whether the promise that is kept with the calibrator holds for them."""


def accept_nothing(kind: Format, scored: Path, out: Path) -> None:
    """Write a scored file again, with false for every row in the column `accepted`."""
    with kind.open(scored) as source:
        others = [name for name in source.names if name != CONFIDENCE]
        batches = source.batches((CONFIDENCE,), others)
        kind.write(out, (_withdrawn(each, source.names) for each in batches))  # type: ignore[misc]


def _withdrawn(batch: Batch, names: Sequence[str]) -> Columns:
    columns = {name: batch.columns[name] for name in names} | {ACCEPTED: np.zeros(len(batch), dtype=bool)}
    confidence = columns[CONFIDENCE]
    if isinstance(confidence, np.ndarray) and np.isnan(confidence).any():  # of bad rows, in text
        columns[CONFIDENCE] = np.ma.masked_invalid(confidence)
    return columns


@dataclass(frozen=True)
class Withdrawal:
    """What a process needs to accept nothing in any part of a folder."""

    folder: File
    kind: Format

    def __call__(self, part: Part, tell: Tell) -> dict[str, Any]:
        """Write a part again, and return what is to be recorded of it."""
        file = self.folder / part.relative
        with on_this_machine(file) as before, atomic_write(file) as temporary:
            accept_nothing(self.kind, before, temporary)
            digest = digest_of(temporary)
        tell(0, 1.0)
        output = part_at(file)
        return {"bytes": output.size, "written": output.modified, "digest": digest}
