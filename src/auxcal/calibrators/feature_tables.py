"""Features with categories and gaps, as numbers for a method that takes numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.logits import top_scores
from auxcal.calibrators.additive_model import cross_fit_additive
from auxcal.inputs import names_of
from auxcal.predictions import Predictions
from auxcal.signals import FeatureTable, SignalColumns

_FOLDS = 5  # as many as CCAC-X has by default


def is_table(features: Any) -> bool:
    """Whether features have categories or gaps; a mapping of columns counts as such."""
    if isinstance(features, Mapping):
        return True
    if names_of(features) is None and not hasattr(features, "column_names"):
        return False
    columns = SignalColumns.of(features)
    return not columns.are_numbers.all() or bool(np.isnan(columns.encode(features)).any())


@ignore_float_errors
def with_numbers(data: Predictions, random_state: int | None) -> Predictions:
    """Return predictions with numbers for the features of a table: gaps at the mean, categories as shrunken effects.

    The effects are those of an additive model of the classifier's own log-odds and all features. Those of a row
    come from the rows of other folds, since its own answer would reveal itself.
    """
    columns, x = data.inputs.signal_columns, np.asarray(data.features)
    is_number, (values, codes) = columns.are_numbers, columns.parts(x)
    categories = np.flatnonzero(~is_number).tolist()
    values = np.column_stack([top_scores(data.logits), values])
    folds = data.folds(min(_FOLDS, data.n_units), random_state)
    fit = cross_fit_additive(values, codes, columns.n_levels, data.correct, folds, data.sample_weight)
    known = ~np.isnan(x)
    fills = np.where(known, x, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    effects: list[tuple[float, ...]] = [()] * len(is_number)
    for j, of_levels in zip(categories, fit.model.effects, strict=True):
        effects[j], fills[j] = tuple(of_levels[:-2].tolist()), of_levels[-2]
    gaps = tuple(int(j) for j in np.flatnonzero(is_number & np.isnan(x).any(axis=0)))
    table = FeatureTable(columns.names, columns.kinds, columns.levels, tuple(fills.tolist()), gaps, tuple(effects))
    filled = table.fill(x)
    filled[:, categories] = fit.effects
    inputs = replace(data.inputs, raw_table=None, feature_names=table.feature_names, feature_table=table)
    return data._with(features=filled, inputs=inputs)
