"""Scores of rows of which some may be bad: these get none, and what is wrong with them is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import LARGEST, Floats, Ints, are_probabilities, largest_of, log_of
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.calibrators import Calibrator, ProbaCalibrator
from auxcal.tables.columns import find_features
from auxcal.tables.spec import CONFIDENCE as CONFIDENCE
from auxcal.tables.spec import PREDICTION as PREDICTION

ACCEPTED = "accepted"
"""The column that a calibrator with a certificate adds: whether the confidence reaches its threshold."""

IN_FIT = "in_fit"
"""The column of a table with labels: whether the row was in the fit, and so promises nothing."""

MAX_WEIGHT = "max_weight"
"""The column beside the weights of picks: the largest weight that a row could have had."""

PROBA = "proba_"
"""How the columns of calibrated class probabilities begin."""

Problems: TypeAlias = NDArray[np.uint8]
"""A `Problem` for each row."""


class Problem(IntEnum):
    """What is wrong with a row; the first that is found counts."""

    NONE = 0
    NULL = 1
    WIDTH = 2
    NAN = 3
    NO_PROBABILITIES = 4


@dataclass(frozen=True)
class BadRows:
    """How many rows could not be scored, by what is wrong with them.

    Parameters
    ----------
    null : int
        Rows that are missing, or that have a missing value.
    width : int
        Rows with more or fewer numbers than the calibrator was fitted with, such as empty lists.
    nan : int
        Rows with NaN, infinity or a number beyond ±1e15.
    no_probabilities : int
        Rows that are not from 0 to 1 with the sum 1, where probabilities are expected.

    Examples
    --------
    >>> from auxcal.tables.scores import BadRows
    >>> bad = BadRows(null=2) + BadRows(nan=1)
    >>> bad.total, str(bad)
    (3, '3 bad rows (2 null, 1 NaN)')
    """

    null: int = 0
    width: int = 0
    nan: int = 0
    no_probabilities: int = 0

    @classmethod
    def among(cls, problems: Problems | None) -> BadRows:
        """Count the rows that have a problem."""
        if problems is None:
            return cls()
        return cls(*(int(n) for n in np.bincount(problems, minlength=len(Problem))[1:]))

    @property
    def total(self) -> int:
        """The number of bad rows of all kinds."""
        return sum(astuple(self))

    def __add__(self, other: BadRows) -> BadRows:
        return BadRows(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        words = "null", "of another width", "NaN", "no probabilities"
        kinds = [f"{n:,} {word}" for n, word in zip(astuple(self), words, strict=True) if n]
        return f"{self.total:,} bad row{'' if self.total == 1 else 's'}" + (f" ({', '.join(kinds)})" if kinds else "")


class RowScores(NamedTuple):
    """The scores of some rows: a prediction of 0 and a confidence of NaN where there is a problem."""

    prediction: Ints
    confidence: Floats
    problems: Problems | None
    proba: Floats | None = None


@ignore_float_errors
def score_rows(
    calibrator: Calibrator,
    numbers: Floats,
    features: Floats | None = None,
    problems: Problems | None = None,
    *,
    probabilities: bool = False,
    proba: bool = False,
) -> RowScores:
    """Score the rows that are good.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    numbers : array of shape (n, K)
        Logits, or probabilities; anything where a row has a problem.
    features : array of shape (n, d) or None
        Those that the calibrator was fitted with.
    problems : array of shape (n,) or None
        What is already known to be wrong with each row.
    probabilities : bool
        Whether `numbers` are such.
    proba : bool
        Give the calibrated distribution too; the calibrator is a `ProbaCalibrator`.
    """
    problems = problems_of(numbers, features, problems, probabilities=probabilities)
    if problems is None:
        logits = log_of(numbers) if probabilities else numbers
        confidence = calibrator.score_validated(logits, features) if len(logits) else logits[:, 0]
        given = None
        if proba and isinstance(calibrator, ProbaCalibrator):
            given = calibrator.proba_validated(logits, features).astype(numbers.dtype, copy=False)
        return RowScores(logits.argmax(axis=1), confidence.astype(numbers.dtype, copy=False), None, given)
    good = np.flatnonzero(problems == Problem.NONE)
    found = score_rows(calibrator, numbers[good], _rows(features, good), probabilities=probabilities, proba=proba)
    prediction, confidence = np.zeros(len(numbers), np.intp), np.full(len(numbers), np.nan, found.confidence.dtype)
    prediction[good], confidence[good] = found.prediction, found.confidence
    if found.proba is None:
        return RowScores(prediction, confidence, problems)
    given = np.full((len(numbers), found.proba.shape[1]), np.nan, found.proba.dtype)
    given[good] = found.proba
    return RowScores(prediction, confidence, problems, given)


def features_for(
    calibrator: Calibrator,
    names: Sequence[str],
    matrices: Sequence[str],
    features: str | Sequence[str] | None,
    taken: Sequence[str],
) -> tuple[str, ...]:
    """Return the columns of the features that the calibrator was fitted with."""
    d = calibrator.n_further_features_
    if d == 0 and not features:
        return ()
    found = find_features(names, matrices, features, taken, calibrator.inputs_)
    if not found:
        raise InvalidInputError(
            f"{calibrator.abbreviation} was fitted with {d} features of each sample, and there is no array 'features'. "
            f"Name their columns with features (--features)."
        )
    return found


@ignore_float_errors
def problems_of(
    numbers: Floats, features: Floats | None, known: Problems | None, *, probabilities: bool
) -> Problems | None:
    """Add what is wrong with the numbers to what is known; None where all rows are good."""
    found = np.zeros(len(numbers), np.uint8) if known is None else known.copy()
    for array in (numbers,) if features is None else (numbers, features):
        if array.size and not largest_of(array) <= LARGEST:
            _note(found, np.abs(array).max(axis=1) <= LARGEST, Problem.NAN)
    if probabilities and len(numbers):
        _note(found, are_probabilities(numbers), Problem.NO_PROBABILITIES)
    return found if found.any() else None


def _note(problems: Problems, good: NDArray[np.bool_], problem: Problem) -> None:
    """Write a problem to the rows that are not good and have none yet."""
    problems[~good & (problems == Problem.NONE)] = problem


def _rows(features: Floats | None, rows: Ints) -> Floats | None:
    return None if features is None else features[rows]
