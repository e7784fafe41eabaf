"""Scores of Ray's data sets."""

from __future__ import annotations

import os
from collections.abc import Sequence

from auxcal._core.extras import needs
from auxcal.calibrators import Calibrator

with needs("ray"):
    import pyarrow as pa
    import ray.data  # noqa: F401  so that its absence is known here

    from auxcal.arrow import PackedScorer

__all__ = ["Score"]


class Score:
    """Adds the columns `prediction` and `confidence` to Arrow batches; they are null for a row that can't be scored.

    Where the calibrator takes signals, there is no prediction, and a gap is no reason for null.

    Use it as ``ds.map_batches(Score(calibrator), batch_format="pyarrow")``.

    Parameters
    ----------
    calibrator : Calibrator or path
        A fitted one, or its file.
    columns, features, probabilities, names
        As in `auxcal.arrow.score`.
    keep_inputs : bool
        Keep the columns of the logits and the features. Without them there is less to move.
    """

    def __init__(
        self,
        calibrator: Calibrator | str | os.PathLike[str],
        *,
        columns: str | Sequence[str] | None = None,
        features: str | Sequence[str] | None = None,
        probabilities: bool | None = None,
        names: bool = True,
        keep_inputs: bool = True,
    ) -> None:
        options = {"probabilities": probabilities, "names": names, "keep_inputs": keep_inputs}
        self._scorer = PackedScorer.of(calibrator, columns, features, **options)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Score a batch."""
        return self._scorer.add_to(batch)
