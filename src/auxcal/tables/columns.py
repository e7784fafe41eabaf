"""Which columns of a table hold the logits and the features: the same rule for files, Arrow tables and engines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from auxcal._core.errors import InvalidInputError
from auxcal._core.text import did_you_mean
from auxcal.calibrators import Calibrator, SignalCalibrator
from auxcal.signals import FeatureTable, SignalColumns
from auxcal.tables.batches import Batch, Source
from auxcal.tables.spec import TableSpec
from auxcal.tables.values import width_of

_FEATURES = "features"
USUAL_ARRAYS = "logits", "proba"
"""What an array of logits, and one of probabilities, is called unless the fit named another one."""
_DEFAULTS = {
    False: (USUAL_ARRAYS[0], "logit_"),
    True: (USUAL_ARRAYS[1], "prob_"),
}  # a matrix, and the prefix of columns
_MOST_SHOWN = 8  # names of columns in a sentence


class Layout(NamedTuple):
    """The columns of the logits and of the features, and how many numbers of each a row must have, if known.

    In place of both, `signals` are the columns of signals, which a calibrator knows as `known`; or, beside logits,
    those of the features of a table, which `table` turns into numbers.
    """

    logits: tuple[str, ...]
    features: tuple[str, ...] = ()
    probabilities: bool = False
    percent: bool = False
    widths: tuple[int, int] | None = None
    signals: tuple[str, ...] = ()
    known: SignalColumns | None = None
    table: FeatureTable | None = None

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of both."""
        return (*self.logits, *self.features)

    def widths_in(self, batch: Batch) -> tuple[int, int]:
        """Return how many numbers of each most rows have."""
        logits, features = (
            width_of(batch[names[0]]) if len(names) == 1 else len(names) for names in (self.logits, self.features)
        )
        return logits, features


def find_layout(
    names: Sequence[str],
    matrices: Sequence[str],
    spec: TableSpec,
    calibrator: Calibrator | None = None,
    taken: Sequence[str] = (),
) -> Layout:
    """Return where logits and features are; a calibrator needs those features that it was fitted with."""
    if isinstance(calibrator, SignalCalibrator):
        signals = find_signals(names, spec, calibrator.columns.names)
        return Layout((), signals=signals, known=calibrator.columns)
    logits = find_logits(names, spec)
    if spec.inputs.feature_table is not None:
        table = spec.inputs.feature_table
        columns = _find_features(names, (), spec.features or table.names, (*logits, *taken), spec)
        return Layout(logits, (), spec.as_probabilities, spec.percent, signals=columns, table=table)
    features = spec.features
    fitted_with = 0 if calibrator is None else calibrator.n_further_features_
    if calibrator is not None and not fitted_with and not features:
        features = ()
    elif calibrator is not None and features is None and spec.inputs.feature_names is None and _FEATURES in names:
        features = _FEATURES  # a column of lists, which has no names of its own columns
    columns = _find_features(names, matrices, features, (*logits, *taken), spec)
    if calibrator is not None and fitted_with and not columns:
        raise InvalidInputError(
            f"{calibrator.abbreviation} was fitted with {fitted_with} features of each sample, and there is no column "
            f"'features'. Name their columns with features (--features)."
        )
    if spec.feature_table and calibrator is None and not set(columns) & set(matrices):
        return Layout(logits, (), spec.as_probabilities, spec.percent, signals=columns)
    return Layout(logits, columns, spec.as_probabilities, spec.percent)


def find_signals(names: Sequence[str], spec: TableSpec, known: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Return the columns of the signals: as given, or as in the fit."""
    signals = tuple(spec.signals or known or ())
    for name in signals:
        check_column(names, name, "Name the columns of the signals with signals (--signals).")
    if len(set(signals)) < len(signals) or (known is not None and len(known) != len(signals)):
        wanted = "each named once" if known is None else f"the {len(known)} of the fit: {', '.join(known)}"
        raise InvalidInputError(f"signals (--signals) must be {wanted}; got {', '.join(signals)}.")
    return signals


def find_logits(names: Sequence[str], spec: TableSpec) -> tuple[str, ...]:
    """Return the columns of the classes in order, or the name of the one matrix that holds them all."""
    columns, known, (matrix, prefix) = spec.columns, spec.inputs, _DEFAULTS[spec.as_probabilities]
    if known.array_name is not None and (known.array_name in names or matrix not in names):
        matrix = known.array_name
    if columns is None and known.column_names and (matrix not in names or set(known.column_names) & set(names)):
        for name in known.column_names:  # a matrix has no names of its columns, so it serves where none of them is
            check_column(
                names,
                name,
                f"The calibrator was fitted on the {known.kind} in {', '.join(known.column_names[:_MOST_SHOWN])}: name "
                f"those columns so, or give the columns of the classes in that order with columns (--columns).",
            )
        return known.column_names
    if columns is not None and not isinstance(columns, str):
        for name in columns:
            check_column(names, name, "Give the columns of the classes in order.")
        if len(set(columns)) < len(columns):
            raise InvalidInputError(
                f"every class needs a column of its own; got {', '.join(columns)}. Name each column once."
            )
        return tuple(columns)
    if columns is not None:
        matrix = prefix = columns
    numbered = _matrix_or_numbered(
        names, matrix, prefix, "name the columns of the classes in order with columns (--columns)"
    )
    if len(numbered) == 1 and numbered[0] != matrix:
        raise InvalidInputError(
            f"the columns {prefix}0, {prefix}1, … must be one for each class; got {numbered[0]} alone. If it belongs "
            f"to the second of two classes, name it with columns (--columns {numbered[0]})."
        )
    if not numbered:
        raise InvalidInputError(_not_found(names, f"an array {matrix!r}, or columns {prefix}0, {prefix}1, …", spec))
    return numbered


def _find_features(
    names: Sequence[str],
    matrices: Sequence[str],
    features: str | Sequence[str] | None,
    taken: Sequence[str],
    spec: TableSpec,
) -> tuple[str, ...]:
    """Return the columns of the features, or the name of the one matrix; an empty tuple if there are none."""
    if features is None:  # a vector of that name can be anything
        known = spec.inputs.feature_names or ()
        if _FEATURES in matrices and not set(known) & set(names):
            return (_FEATURES,)
        features = known
    columns = tuple(features)
    if isinstance(features, str):
        advice = "name the columns of the features with features (--features)"
        columns = _matrix_or_numbered(names, features, features, advice) or (features,)
    for name, count in Counter(columns).items():
        check_column(names, name, "Name the columns of the features with features (--features).")
        if name in taken or count > 1:
            raise InvalidInputError(
                f"the columns of the features must each be named once, and hold neither logits nor true classes; got "
                f"{name!r}. Leave it out of features (--features)."
            )
    return columns


def find_weights(source: Source, spec: TableSpec) -> tuple[str | None, str | None]:
    """Return the columns of the weights and of the groups; by default those of a bundle, which are whole arrays."""
    for name, option in ((spec.weight, "weight"), (spec.group, "group")):
        if name is not None:
            check_column(source.names, name, f"Name the column with {option} (--{option}).")
    arrays = source.names if source.arrays else ()
    return spec.weight or ("sample_weight" if "sample_weight" in arrays else None), spec.group or (
        "groups" if "groups" in arrays else None
    )


def check_column(names: Sequence[str], name: str, advice: str) -> None:
    """Raise an error if a column does not exist."""
    if name not in names:
        raise InvalidInputError(f"there is no column {name!r}{did_you_mean(name, names)}; {_have(names)}. {advice}")


def _matrix_or_numbered(names: Sequence[str], matrix: str, prefix: str, advice: str) -> tuple[str, ...]:
    """Return the one matrix if it exists, else the columns with the prefix in the order of their numbers."""
    if matrix in names:
        return (matrix,)
    numbered = _numbered(names, prefix)
    gap = next((place for place, number in enumerate(sorted(numbered)) if place != number), None)
    if gap is not None:
        raise InvalidInputError(
            f"the columns {prefix}0 to {prefix}{max(numbered)} must all be there; {prefix}{gap} is not. Add it, or "
            f"{advice}."
        )
    return tuple(numbered[place] for place in sorted(numbered))


def _numbered(names: Sequence[str], prefix: str) -> dict[int, str]:
    numbered: dict[int, str] = {}
    for name in names:
        if re.fullmatch(re.escape(prefix) + r"\d{1,9}", name):
            number = int(name.removeprefix(prefix))
            if number in numbered:
                raise InvalidInputError(f"{numbered[number]!r} and {name!r} are the same column. Remove one of them.")
            numbered[number] = name
    return numbered


def _not_found(names: Sequence[str], wanted: str, spec: TableSpec) -> str:
    kind, other = ("probabilities", "logits") if spec.as_probabilities else ("logits", "probabilities")
    other_matrix, other_prefix = _DEFAULTS[not spec.as_probabilities]
    if spec.columns is None and (other_matrix in names or _numbered(names, other_prefix)):
        advice = f"{'Leave out' if spec.as_probabilities else 'Give'} probabilities=True (--probabilities)."
        if spec.inputs.kind is not None:
            advice = f"The calibrator was fitted on {spec.inputs.kind}: give these, or fit one on {other}."
        return f"expected {kind}, {wanted}; got {other}. {advice}"
    return f"expected {wanted}; {_have(names)}. Name those of the classes in order with columns (--columns)."


def _have(names: Sequence[str]) -> str:
    names = [name for name in names if not name.startswith("\0")]  # these are ours
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return f"found {', '.join(map(repr, names[:_MOST_SHOWN])) or 'nothing'}{more}"
