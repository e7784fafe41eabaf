"""What the columns may contain: the same rule for all formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auxcal._core.arrays import Floats, as_features, as_log_probabilities, as_logits
from auxcal.tables._format import Columns


def logits_of(columns: Columns, names: Sequence[str], *, probabilities: bool) -> Floats:
    """Return the columns of the classes as one validated matrix; probabilities become their logarithms."""
    parts = [columns[name] for name in names]
    matrix = parts[0] if parts[0].ndim == 2 else np.column_stack(parts)
    return as_log_probabilities(matrix) if probabilities else as_logits(matrix)


def own_confidence(logits: Floats) -> Floats:
    """Return the classifier's own confidence, its largest softmax probability."""
    return np.asarray(1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1))


def features_of(columns: Columns, names: Sequence[str], *, n_rows: int) -> Floats | None:
    """Return the columns of the features as one validated matrix, or None if there are none."""
    if not names:
        return None
    parts = [columns[name] for name in names]
    one = len(parts) == 1 and parts[0].ndim > 1
    return as_features(parts[0] if one else np.column_stack(parts), n_rows=n_rows)


def text_of(column: Any) -> list[str] | None:
    """Return the text of each row of a table's column without blanks around it, or None where it holds other values."""
    if isinstance(column, np.ndarray):
        values = column if column.dtype == object else None
    else:
        from auxcal.tables._arrow import is_text, values_of

        values = values_of(column) if is_text(column) else None
    return None if values is None else ["" if value is None else str(value).strip() for value in values]
