"""TableSpec: where things are in a table. Functions that read tables take one, or its fields as keywords."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from auxcal._core.errors import InvalidInputError
from auxcal._core.labels import Labels, as_class_names
from auxcal.inputs import Inputs, LogitInputs

OnBadRows: TypeAlias = Literal["null", "skip", "fail"]
"""What becomes of a row that can't be used: no score, no row, or an error."""

DEFAULT_LABEL = "y"
PREDICTION, CONFIDENCE, ACCEPTED, IN_FIT = "prediction", "confidence", "accepted", "in_fit"
"""The columns that stand beside the rows of a scored table: `ACCEPTED` where the calibrator keeps a promise, `IN_FIT`
where the rows have labels and the calibrator knows the rows of its fit."""

PROBA, NO_CLASS_COLUMN, MISCLASSIFIED_COLUMN = "proba_", "no_class", "misclassified"
"""How the columns of calibrated class probabilities begin, and how the one that is of no class ends."""


def optional_scores(names: Iterable[str], class_names: Sequence[str] | None = None) -> list[str]:
    """Return the columns with names that only some scorings write: in a table to score, they are of an earlier one.

    Beside a prediction and a confidence, every `proba_` is of an earlier one, whose classes may have had other names.

    Examples
    --------
    >>> from auxcal.tables.spec import optional_scores
    >>> names = ["accepted", "proba_0", "proba_cat", "proba_of_rain"]
    >>> optional_scores(names, ["cat", "dog"])
    ['accepted', 'proba_0', 'proba_cat']
    >>> optional_scores([*names, "prediction", "confidence"])
    ['accepted', 'proba_0', 'proba_cat', 'proba_of_rain']
    """
    names = list(names)
    scored = {PREDICTION, CONFIDENCE} <= set(names)
    endings = {NO_CLASS_COLUMN, MISCLASSIFIED_COLUMN, *(class_names or ())}

    def is_optional(name: str) -> bool:
        ending = name.removeprefix(PROBA)
        return name in (ACCEPTED, IN_FIT) or (ending != name and (scored or ending.isdecimal() or ending in endings))

    return [name for name in names if is_optional(name)]


@dataclass(frozen=True)
class TableSpec:
    """Where things are in a table, and what becomes of its bad rows.

    Parameters
    ----------
    label : str, optional
        The column of the true classes; by default the one of `inputs`, else `y`.
    columns : str or sequence of str, optional
        The columns of the logits: an array, the prefix of numbered columns, or a list in the order of the classes.
    probabilities : bool, optional
        Whether these hold probabilities; by default, whether the calibrator was fitted on such.
    percent : bool
        Whether they hold percentages, which become probabilities.
    features : str or sequence of str, optional
        The columns of the features, given as for `columns`; `()` for none.
    feature_table : bool
        Whether columns of features may have gaps, and text for categories, which a fit turns into numbers.
    signals : sequence of str, optional
        In place of logits, the columns of what is known of each answer: numbers with gaps, and text.
    signal_probabilities : sequence of str
        Those of the signals that are probabilities, and count by their log-odds.
    correct : str, optional
        In place of the true classes, the column of whether each answer is right: true and false, or 1 and 0.
    class_names : sequence of str, optional
        The names of the classes in order.
    no_class : sequence of str
        Labels that mean none of the classes, besides -1.
    unknown_is_no_class : bool
        Whether all labels that are none of the classes mean that too.
    weight, group : str, optional
        The columns of how often each row counts, and of what it belongs to.
    on_bad_rows : {"fail", "skip", "null"}
        What becomes of a row that can't be used: an error, no row, or a row without a score.
    prediction, confidence : str
        The columns of the scores, in a table that has some.
    inputs : Inputs, optional
        What is known of the columns already, such as ``calibrator.inputs_``; the other fields come before it.

    Examples
    --------
    >>> from auxcal.tables import TableSpec
    >>> spec = TableSpec(columns=["cat", "dog"], no_class=["bus"])
    >>> spec.label_name, spec.columns, spec.as_probabilities
    ('y', ('cat', 'dog'), False)
    """

    label: str | None = None
    columns: str | Sequence[str] | None = None
    probabilities: bool | None = None
    percent: bool = False
    features: str | Sequence[str] | None = None
    feature_table: bool = False
    signals: Sequence[str] | None = None
    signal_probabilities: Sequence[str] = ()
    correct: str | None = None
    class_names: Sequence[str] | None = None
    no_class: Sequence[str] = ()
    unknown_is_no_class: bool = False
    weight: str | None = None
    group: str | None = None
    on_bad_rows: OnBadRows = "fail"
    prediction: str = PREDICTION
    confidence: str = CONFIDENCE
    inputs: Inputs = field(default_factory=LogitInputs)

    def __post_init__(self) -> None:
        for name in ("columns", "features", "signals", "signal_probabilities", "class_names", "no_class"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str | tuple):
                object.__setattr__(self, name, tuple(value))
        if self.inputs is None:
            object.__setattr__(self, "inputs", LogitInputs())

    @classmethod
    def of(cls, spec: TableSpec | None, where: dict[str, Any], **defaults: Any) -> TableSpec:
        """Return a spec, or a default, with some fields replaced."""
        return replace(spec or cls(**defaults), **where)

    def known_to(self, inputs: Inputs) -> TableSpec:
        """Return the spec with what a calibrator knows of its columns."""
        return replace(self, inputs=inputs)

    @property
    def label_name(self) -> str:
        """The column of the true classes, or of whether answers are right."""
        return self.correct or self.label or self.inputs.label_name or DEFAULT_LABEL

    @property
    def says_correct(self) -> bool:
        """Whether labels are whether an answer is right, and not what it should be."""
        return self.correct is not None or self.inputs.kind == "signals"

    @property
    def as_probabilities(self) -> bool:
        """Whether the columns of the classes hold probabilities."""
        return self.percent or self.inputs.as_proba(self.probabilities)

    @property
    def none_labels(self) -> tuple[str, ...]:
        """The labels that mean none of the classes."""
        return tuple(self.no_class) or self.inputs.no_class or ()

    def classes(self, n_classes: int) -> tuple[str, ...] | None:
        """Return the names of the classes, by default those of the columns, if these are listed."""
        listed = None if isinstance(self.columns, str) else self.columns
        names = self.class_names or self.inputs.class_names or listed
        return None if names is None else as_class_names(names, n_classes)

    def labels(self, n_classes: int) -> Labels:
        """Return how the true classes are read."""
        return Labels(
            self.label_name, self.classes(n_classes), self.none_labels, self.unknown_is_no_class, self.says_correct
        )

    def check_bad_rows(self, *choices: str) -> None:
        """Validate `on_bad_rows`."""
        choices = choices or get_args(OnBadRows)[1:]
        if self.on_bad_rows not in choices:
            raise InvalidInputError(f"on_bad_rows must be one of {', '.join(choices)}; got {self.on_bad_rows!r}.")
