"""A calibrator on its way to the workers of an engine: as the bytes of its file, and loaded once in each of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from auxcal._core.extras import needs
from auxcal._core.threads import one_thread
from auxcal.calibrators import Calibrator
from auxcal.persistence import from_bytes, load, to_bytes
from auxcal.tables._arrow_score import Scores, find_inputs, score

with needs("tables"):
    import pyarrow as pa


@dataclass(frozen=True)
class Scorer:
    """What a worker needs to score: plain data, so that any engine can move it.

    Parameters
    ----------
    contents : bytes
        The calibrator, as in its file.
    module : str
        The module of its class, which a worker imports first: it can be the user's own.
    columns, features, probabilities, names
        As in `auxcal.arrow.score`.
    keep_inputs : bool
        Whether the columns of the logits and the features stay in the table.
    """

    contents: bytes
    module: str
    columns: str | tuple[str, ...] | None = None
    features: str | tuple[str, ...] | None = None
    probabilities: bool | None = None
    names: bool = True
    keep_inputs: bool = True

    @classmethod
    def of(
        cls,
        calibrator: Calibrator | str | os.PathLike[str],
        columns: str | Sequence[str] | None = None,
        features: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Scorer:
        """Pack a calibrator, or the one in a file."""
        fitted = calibrator if isinstance(calibrator, Calibrator) else load(calibrator)
        return cls(to_bytes(fitted), type(fitted).__module__, _plain(columns), _plain(features), **options)

    @property
    def calibrator(self) -> Calibrator:
        """The calibrator; every process loads it once."""
        return _loaded(self.module, self.contents)

    def score(self, rows: Any, features: Any = None) -> Scores:
        """Score an array, a batch or a table with one thread: the engine has a worker for each core."""
        with one_thread():
            return score(
                rows,
                self.calibrator,
                columns=self.columns,
                features=self.features if features is None else features,
                probabilities=self.probabilities,
                names=self.names,
            )

    def add_to(self, table: Any) -> Any:
        """Return a batch or a table with its scores."""
        scored = self.score(table).beside(table)
        if self.keep_inputs:
            return scored
        inputs = self.inputs(table.schema)
        return scored.select([name for name in scored.schema.names if name not in inputs])

    def inputs(self, schema: pa.Schema) -> tuple[str, ...]:
        """Return the columns of the logits and of the features."""
        logits, features = find_inputs(schema, self.calibrator, self.columns, self.features, self.probabilities)
        return (*logits, *features)


@lru_cache(maxsize=4)
def _loaded(module: str, contents: bytes) -> Calibrator:
    import_module(module)
    return from_bytes(contents)


def _plain(names: str | Sequence[str] | None) -> str | tuple[str, ...] | None:
    return names if names is None or isinstance(names, str) else tuple(names)
