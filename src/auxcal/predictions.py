"""The output of a target classifier on labelled samples: logits, true classes, and more."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import (
    NO_CLASS,
    Bools,
    Floats,
    Groups,
    Ints,
    Weight,
    as_features,
    as_groups,
    as_log_probabilities,
    as_logits,
    as_rng,
    as_sample_weight,
)
from auxcal._core.errors import AuxcalError, FileFormatError, InvalidInputError
from auxcal._core.files import as_path, atomic_write, check_regular, open_arrays
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.labels import NoClassLabels, are_names, as_no_class, as_y, from_names
from auxcal._core.text import some
from auxcal._core.threads import cached_property
from auxcal.inputs import Inputs, LogitInputs, SignalInputs, places_of, places_of_classes
from auxcal.signals import UNSEEN, SignalColumns
from auxcal.splits import Units, ordered_rows


@dataclass(frozen=True, eq=False)
class Predictions:
    """Logits of a target classifier and the true class of every sample.

    Parameters
    ----------
    logits : array of shape (n, K)
        The raw scores of the classifier. Log-probabilities are fine; probabilities need `probabilities`.
    y : array of shape (n,)
        The true class, 0..K-1, or `NO_CLASS` = -1 for an out-of-distribution sample, which has none of the classes. Or
        its name, where `class_names` or the columns of a DataFrame give the names of the classes.
    features : array of shape (n, d), optional
        Further inputs of each sample, for instance the output of the classifier's last hidden layer. Only a calibrator
        with `uses_features` reads them.
    sample_weight : array of shape (n,), optional
        How often each row counts: one of weight 2 counts as two rows, one of weight 0 as none. The sum is the
        effective sample size. Weights that only make up for how rows were drawn should add up to n.
    groups : array of shape (n,), optional
        What each row belongs to, such as a patient, a camera or a day. Rows of one group stay together in splits and
        folds.
    probabilities : bool
        `logits` holds probabilities, whose logarithms are then the logits.
    class_names : sequence of str, optional
        The names of the K classes, which a calibrator that is fitted on these rows remembers.
    no_class : label or sequence of labels, optional
        Labels in `y` that mean none of the classes, besides -1.

    Attributes
    ----------
    inputs : Inputs
        Whether logits or probabilities were given, and the names of classes and columns, as far as they are known.

    Examples
    --------
    >>> from auxcal import NO_CLASS, Predictions
    >>> part = Predictions(logits=[[2.0, 0.1], [0.3, 0.9], [1.5, 0.2]], y=[0, 0, NO_CLASS])
    >>> part.prediction
    array([0, 1, 0])
    >>> part.correct
    array([ True, False, False])
    """

    logits: Floats
    y: Ints
    features: Floats | None
    sample_weight: Weight | None
    groups: Groups | None
    inputs: Inputs

    @ignore_float_errors
    def __init__(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        features: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        probabilities: bool = False,
        class_names: Sequence[str] | None = None,
        no_class: NoClassLabels = None,
    ) -> None:
        checked = as_log_probabilities(logits) if probabilities else as_logits(logits)
        n, k = checked.shape
        kind, ood = {"n_classes": k, "probabilities": probabilities}, as_no_class(no_class)
        inputs: Inputs = LogitInputs.of(logits, features, **kind, class_names=class_names, no_class=ood)
        if inputs.class_names is None and are_names(y, inputs.names):  # then predictions are called as labels are
            inputs = replace(inputs, class_names=inputs.names)
        vars(self).update(
            logits=checked,
            y=as_y(from_names(y, inputs.names, ood), n_rows=n, n_classes=k),
            features=None if features is None else as_features(features, n_rows=n),
            sample_weight=as_sample_weight(sample_weight, n_rows=n),
            groups=None if groups is None else as_groups(groups, n_rows=n),
            inputs=inputs,
        )

    @classmethod
    @ignore_float_errors
    def from_signals(
        cls,
        signals: Any,
        correct: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        probabilities: Iterable[str] = (),
    ) -> Predictions:
        """Return answers that have signals in place of logits: predictions of one class, "the answer".

        Parameters
        ----------
        signals : DataFrame, mapping of columns, or array of shape (n, d)
            What is known of each answer: numbers, booleans, and text for categories, each with gaps.
        correct : array of shape (n,)
            Whether each answer is right.
        groups, sample_weight : arrays of shape (n,), optional
            What each answer belongs to, and how often it counts.
        probabilities : iterable of str
            The columns that are probabilities; they count by their log-odds.

        Examples
        --------
        >>> from auxcal import Predictions
        >>> signals = {"verbal": [0.9, None, 0.5], "topic": ["law", "law", "maths"]}
        >>> Predictions.from_signals(signals, [True, True, False])
        Predictions(n=3, K=1, accuracy=0.667, no_class=1, features=2)
        """
        columns = SignalColumns.of(signals, probabilities)
        inputs = SignalInputs("signals", feature_names=columns.names, raw_table=columns)
        rows = inputs.rows(signals, None, n_classes=1, n_features=len(columns.names))
        return cls._of_rows(*rows, correct, inputs, sample_weight=sample_weight, groups=groups)

    @classmethod
    def _of_rows(
        cls,
        logits: Floats,
        features: Floats | None,
        y: ArrayLike,
        inputs: Inputs,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Predictions:
        """Return rows that `Inputs.rows` gave, with their labels as these inputs have them."""
        n, k = logits.shape
        return cls._trusted(
            logits=logits,
            y=inputs.as_y(y, n_rows=n, n_classes=k),
            features=features,
            sample_weight=as_sample_weight(sample_weight, n_rows=n),
            groups=None if groups is None else as_groups(groups, n_rows=n),
            inputs=inputs,
        )

    def with_raw_table(self, features: Any) -> Predictions:
        """Return the rows with features of a table, which a fit turns into numbers."""
        columns = SignalColumns.of(features)
        x = columns.encode(features)
        if len(x) != len(self):
            raise InvalidInputError(
                f"features must have one row for each of the {len(self)} rows of logits; got {len(x)}. Check that both "
                f"come from the same samples."
            )
        inputs = replace(self.inputs, feature_names=columns.names, raw_table=columns)
        return self._with(features=x, inputs=inputs)

    def recoded(self, fit: Predictions) -> Predictions:
        """Return rows with signals, or features of a table, with the codes that levels have in a fit part."""
        after = fit.inputs.signal_columns
        before, x = self.inputs.signal_columns.in_order_of(after.names, np.array(self.features))
        if before.names != after.names or before.kinds != after.kinds:
            raise InvalidInputError(
                f"both parts must have the same signals or features, {some(after.names)}, of the same types; got "
                f"{some(before.names)}. Read both in the same way."
            )
        for j, (old, new) in enumerate(zip(before.levels, after.levels, strict=True)):
            known = x[:, j] >= 0
            places = {level: place for place, level in enumerate(new)}
            codes = np.array([places.get(level, UNSEEN) for level in old], dtype=np.float64)
            if old:
                x[known, j] = codes[x[known, j].astype(np.intp)]
        return self._with(features=x, inputs=fit.inputs)

    def in_order_of(self, fit: Inputs, what: str) -> Predictions:
        """Return the rows with the classes, and the features, in the order that they have in a fit part, by name."""
        part, order = self, places_of_classes(fit, self.inputs, what)
        if order is not None:
            names = {name: getattr(self.inputs, name) for name in ("column_names", "class_names")}
            moved: dict[str, Any] = {name: of and tuple(of[place] for place in order) for name, of in names.items()}
            y = np.where(self.y == NO_CLASS, NO_CLASS, np.argsort(order)[self.y])
            part = part._with(logits=self.logits[:, order], y=y, inputs=replace(self.inputs, **moved))
        ours, theirs = fit.feature_names, self.inputs.feature_names
        if part.features is not None and ours and theirs and not (fit.raw_table or self.inputs.raw_table):
            columns = places_of(ours, theirs, f"{what}: the features")
            if columns is not None:
                part = part._with(features=part.features[:, columns], inputs=replace(part.inputs, feature_names=ours))
        return part

    @classmethod
    def _trusted(cls, **values: Any) -> Predictions:
        """Make one from checked values; only check that there is at least one row."""
        if np.ndim(values["y"]) != 1 or len(values["y"]) == 0:
            raise InvalidInputError(
                f"a part must have at least one row; got shape {np.shape(values['y'])}. Check what chooses the rows."
            )
        part = cls.__new__(cls)
        vars(part).update({"features": None, "sample_weight": None, "groups": None} | values)
        return part

    def _with(self, **changes: Any) -> Predictions:
        """Return a copy with other fields, which are already checked."""
        return self._trusted(**{"inputs": self.inputs} | self._columns() | changes)

    @property
    def n_classes(self) -> int:
        """K, the number of the target classifier's classes."""
        return int(self.logits.shape[1])

    @property
    def n_features(self) -> int:
        """d, the number of features of each sample; 0 if there are none."""
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def n_units(self) -> int:
        """The number of groups, or of rows if there are no groups."""
        return len(self) if self.groups is None else len(np.unique(self.groups))

    @property
    def total_weight(self) -> float:
        """The number of rows that these are worth."""
        return float(_weight(self).sum())

    @cached_property
    def prediction(self) -> Ints:
        """The class with the largest logit; the first one in a tie."""
        return self.logits.argmax(axis=1)

    @cached_property
    def correct(self) -> Bools:
        """Whether the prediction is the true class; never for `NO_CLASS`."""
        return self.prediction == self.y

    @property
    def accuracy(self) -> float:
        """The weighted share of the rows whose prediction is correct."""
        return float(np.average(self.correct, weights=self.sample_weight))

    @cached_property
    def w(self) -> Ints:
        """The paper's extended label: y where the prediction is correct, else K, the auxiliary class."""
        return np.where(self.correct, self.y, self.n_classes)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        facts = [f"n={len(self)}", f"K={self.n_classes}", f"accuracy={self.accuracy:.3f}"]
        facts += [f"no_class={int((self.y == NO_CLASS).sum())}"]
        facts += [f"features={self.n_features}"] if self.n_features else []
        facts += [f"weight={self.sample_weight.sum():.6g}"] if self.sample_weight is not None else []
        facts += [f"groups={self.n_units}"] if self.groups is not None else []
        return f"Predictions({', '.join(facts)})"

    @ignore_float_errors
    def take(self, rows: Ints | Bools | slice) -> Predictions:
        """Return the given rows as new `Predictions`."""
        return self._with(
            **{name: None if column is None else column[rows] for name, column in self._columns().items()}
        )

    def counted(self) -> Predictions:
        """Return the rows whose weight is above 0."""
        return self if self.sample_weight is None or self.sample_weight.all() else self.take(self.sample_weight > 0)

    def without_features(self) -> Predictions:
        """Return the same rows without their features."""
        inputs = replace(self.inputs, feature_names=None, feature_table=None, raw_table=None)
        return self._with(features=None, inputs=inputs)

    def joined(self, other: Predictions) -> Predictions:
        """Return the rows of both, of the same target classifier; what only one has is dropped, except weights."""
        other = other.in_order_of(self.inputs, "the other part")
        weighted = self.sample_weight is not None or other.sample_weight is not None
        first, second = (
            {**part._columns(), "sample_weight": _weight(part) if weighted else None} for part in (self, other)
        )
        both = {name for name in first if first[name] is not None and second[name] is not None}
        return self._with(
            **{name: np.concatenate([first[name], second[name]]) if name in both else None for name in first}
        )

    @ignore_float_errors
    def folds(self, n_folds: int, random_state: int | None = None) -> Ints:
        """Return a fold for each row, 0..n_folds-1, stratified by `w`, the rows of a group in one fold.

        They do not depend on the order of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> Predictions(np.eye(2).repeat(3, axis=0), [0, 0, 0, 1, 1, 1]).folds(3, random_state=0)
        array([1, 2, 0, 0, 2, 1])
        """
        return self._units(self._ordered_rows()).assign_folds(n_folds, as_rng(random_state))

    @ignore_float_errors
    def spread_rows(self, most: int) -> Ints:
        """Return all rows, or the given number of them, in which every class, and the misclassified, keeps its share.

        The choice does not depend on the order of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> Predictions(np.eye(2).repeat(3, axis=0), [0, 0, 0, 1, 1, 1]).spread_rows(2)
        array([0, 3])
        """
        if len(self) <= most:
            return np.arange(len(self))
        return np.sort(self._ordered_rows()[np.arange(most) * len(self) // most])

    def _ordered_rows(self) -> Ints:
        return ordered_rows(self.logits, self.y, self.w, self.features)

    def _units(self, order: Ints) -> Units:
        return Units.of(order, self.w, self.sample_weight, self.groups)

    def with_class(self) -> Predictions | None:
        """Return the rows whose true class is one of the K classes, or None if there are none."""
        known = self.y != NO_CLASS
        if known.all():
            return self
        return self.take(known) if known.any() else None

    def split(self, *sizes: int, random_state: int | None = None) -> tuple[Predictions, ...]:
        """Draw disjoint random parts of the given sizes, such as a fit, a select and a test part.

        Rows of one group stay together; the sizes are then approximate.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> whole = Predictions(np.eye(10), np.arange(10))
        >>> [len(part) for part in whole.split(6, 1, 3, random_state=0)]
        [6, 1, 3]
        """
        whole = all(isinstance(size, int | np.integer) and size >= 1 for size in sizes)
        if not sizes or not whole or sum(sizes) > len(self):
            raise InvalidInputError(
                f"sizes must be whole numbers of at least 1 that add up to at most the {len(self)} rows; got {sizes}. "
                f"Ask for smaller parts."
            )
        return tuple(map(self.take, self._units(np.arange(len(self))).drawn(sizes, as_rng(random_state))))

    def split_stratified(self, share: float, random_state: int | None = None) -> tuple[Predictions, Predictions]:
        """Split off a share of the rows, stratified by `w`, groups whole; return the rest and that share."""
        rest, aside = self.stratified_rows(share, random_state)
        return self.take(rest), self.take(aside)

    @ignore_float_errors
    def stratified_rows(self, share: float, random_state: int | None = None) -> tuple[Ints, Ints]:
        """Return the row numbers of both parts of `split_stratified`, in order.

        The choice does not depend on the order of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> rest, aside = Predictions(np.eye(2).repeat(4, axis=0), [0, 0, 0, 0, 1, 1, 1, 1]).stratified_rows(0.25, 0)
        >>> len(rest), (aside < 4).sum(), (aside >= 4).sum()
        (6, np.int64(1), np.int64(1))
        """
        return self._units(self._ordered_rows()).set_aside(share, as_rng(random_state))

    @ignore_float_errors
    def save(self, path: str | os.PathLike[str], *, half: bool = False) -> None:
        """Write a bundle, an `.npz` file with `logits`, `y` and what else there is; `half` stores floats as float16."""
        path = as_path(path)
        if path.suffix != ".npz":
            raise InvalidInputError(f"a bundle is an .npz file; got {path.name!r}. Save it as {path.stem}.npz.")
        arrays = self._columns() | {"y": self.y.astype(np.int32), "inputs": self.inputs.as_text()}
        stored = {name: array for name, array in arrays.items() if array is not None}
        if half:
            stored |= {name: _halved(stored[name], name) for name in ("logits", "features") if name in stored}
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **stored)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictions:
        """Read a bundle that `save` or `numpy.savez(path, logits=..., y=...)` wrote, with what else it has."""
        with _reading_bundle(path) as arrays:
            further = {name: arrays.get(name) for name in ("features", "sample_weight", "groups")}
            part = cls(arrays["logits"], arrays["y"], **further)
            return part._with(inputs=Inputs.from_text(arrays.get("inputs"), part.n_classes, part.n_features))

    def _columns(self) -> dict[str, Any]:
        """Return all fields with a value for each row, None if not given."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "inputs"}


def _weight(part: Predictions) -> Weight:
    return np.ones(len(part)) if part.sample_weight is None else part.sample_weight


@contextmanager
def _reading_bundle(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Give the arrays of a bundle by name; errors name the file."""
    path = as_path(path)
    check_regular(path)
    try:
        with open_arrays(path) as arrays:
            yield arrays
    except AuxcalError as error:
        raise type(error)(f"{path}: {error}") from None
    except Exception as error:  # a damaged file can make the zip, zlib and NumPy readers raise nearly anything
        raise FileFormatError(
            f"{path}: expected a bundle, an .npz file with the arrays 'logits' and 'y'; reading it failed with "
            f"{type(error).__name__}: {error}. Write one with numpy.savez(path, logits=logits, y=y)."
        ) from error


def _halved(array: Floats, name: str) -> Floats:
    if np.abs(array).max() > np.finfo(np.float16).max:
        raise InvalidInputError(f"these {name} do not fit into float16 (beyond 65504). Save them with half=False.")
    return array.astype(np.float16)
