"""Rows of logits or probabilities, with features or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, Ints, as_features, as_floats, as_log_probabilities, as_logits
from auxcal._core.errors import InvalidInputError
from auxcal._core.labels import as_class_names, as_y, from_names
from auxcal._core.text import some
from auxcal.inputs.kinds import Inputs, listed
from auxcal.inputs.names import Names, by_name, in_order_of_numbers, names_of, places_of
from auxcal.inputs.warnings import warn_of_wrong_kind


class LogitInputs(Inputs, kinds=(None, "logits", "probabilities")):
    """A number for each class, and features of the sample if the method uses them."""

    numbers_of_classes = range(2, 2**31)  # beyond any classifier
    wrong_share = "of no class"

    @classmethod
    def of(
        cls,
        logits: Any,
        features: Any,
        *,
        n_classes: int,
        probabilities: bool,
        class_names: Sequence[str] | None,
        no_class: Names = (),
    ) -> LogitInputs:
        """Return what is known about arrays or DataFrames; only DataFrames have names."""
        named = None if class_names is None else as_class_names(class_names, n_classes)
        columns = names_of(logits)
        if named is not None and columns is not None and named != columns and set(named) == set(columns):
            raise InvalidInputError(
                f"class_names must be in the order of the columns, {some(columns)}; got {some(named)}. Leave them out: "
                f"the columns name the classes."
            )
        if named is None and columns is not None and columns != (in_order := in_order_of_numbers(columns) or columns):
            raise InvalidInputError(
                f"columns that are numbered must be in the order of their numbers, which y may mean; got "
                f"{some(columns)}. Give the columns {some(in_order)}, or name the classes with class_names."
            )
        kind = "probabilities" if probabilities else "logits"
        return cls(kind, named, columns, names_of(features), no_class=no_class or None)  # type: ignore[arg-type]

    @property
    def needs_numbers(self) -> bool:
        """Whether the features are a table that no fit has turned into numbers yet."""
        return self.raw_table is not None

    def rows(
        self, given: Any, features: Any, *, n_classes: int, n_features: int, stacklevel: int = 1
    ) -> tuple[Floats, Floats | None]:
        """Check rows of the kind of the fit, and return their logits and features, columns taken by name."""
        ordered = self.ordered(given, n_classes)
        if self.kind == "probabilities":
            logits = as_log_probabilities(ordered, n_classes=n_classes)
        else:
            logits = as_logits(ordered, n_classes=n_classes)
            warn_of_wrong_kind(self.kind, logits, stacklevel=stacklevel + 1)
        return logits, check_features(self.as_features(features), n_rows=len(logits), n_features=n_features)

    def as_y(self, y: ArrayLike, *, n_rows: int, n_classes: int) -> Ints:
        """Check true classes, by index or by the names that are known, and return them as indices."""
        return as_y(from_names(y, self.names, self.no_class or ()), n_rows=n_rows, n_classes=n_classes)

    def described(self, n_classes: int, n_features: int) -> dict[str, str]:
        """Return in words what a calibrator takes."""
        kind = f"{self.kind} of" if self.kind else "logits, or logarithms of probabilities: not known which;"
        return {
            "takes": f"{kind} {n_classes} classes{f' and {n_features} features' if n_features else ''}",
            "classes": listed(self.class_names),
            "columns": listed(self.column_names),
            "features": listed(self.feature_names) if n_features else "none",
        }

    def ordered(self, logits: Any, n_classes: int) -> Any:
        """Return a table with its columns in the order of the fit: by the names of the columns, or of the classes.

        Where the fit has no names, columns that are numbered from 0 to K-1 are in the order of these numbers.
        """
        given = names_of(logits)
        if self.column_names is not None or given is None:
            return by_name(logits, self.column_names, "logits")
        if self.class_names is not None and set(self.class_names) <= set(given):
            return by_name(logits, self.class_names, "logits")
        numbered = in_order_of_numbers(given, plain=True) if len(given) == n_classes else None
        return logits if numbered is None else by_name(logits, numbered, "logits")

    def as_features(self, given: Any) -> Any:
        """Return features as numbers, columns taken by name; those of a table with categories and gaps filled."""
        if self.feature_table is None and isinstance(given, Mapping):
            columns = {str(name): column for name, column in given.items()}
            names = self.feature_names or tuple(columns)
            places_of(names, tuple(columns), "features")
            return np.column_stack([as_floats(columns[name], f"the feature {name!r}") for name in names])
        if self.feature_table is None or given is None:
            return by_name(given, self.feature_names, "features")
        return self.feature_table.encode(given)


def check_features(features: ArrayLike | None, *, n_rows: int, n_features: int) -> Floats | None:
    """Check the features of rows to score: as many as in the fit, or none."""
    if features is None and n_features == 0:
        return None
    if features is None:
        raise InvalidInputError(
            f"features must have the {n_features} columns that the calibrator was fitted with; got none. Give the same "
            f"features of these samples, or fit a calibrator without."
        )
    if n_features == 0:
        raise InvalidInputError(
            f"the calibrator was fitted without features; got features of shape {np.shape(features)}. Leave features "
            f"out, or fit a calibrator with them."
        )
    return as_features(features, n_rows=n_rows, n_columns=n_features)


def places_of_classes(fit: Inputs, part: Inputs, what: str) -> list[int] | None:
    """Return the places of the classes of a fit in another part of the data, None where they are in the same order."""
    both = [(fit.column_names, part.column_names), (fit.class_names, part.class_names)]
    known = [(ours, theirs) for ours, theirs in both if ours is not None and theirs is not None]
    ours, theirs = fit.names, part.names
    if not known and ours is not None and theirs is not None and set(ours) == set(theirs):
        known = [(ours, theirs)]
    orders = [places_of(ours, theirs, what) for ours, theirs in known]
    if orders and orders[0] != orders[-1]:
        raise InvalidInputError(
            f"{what}: the columns and the classes must be in one order; got the columns {some(known[0][1])} for "
            f"the classes {some(known[1][1])}. Give the names of the classes in the order of the columns."
        )
    return orders[0] if orders else None
