"""Answers: what a language model answered, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Groups, Ints


@dataclass(frozen=True, repr=False, eq=False)
class Answers:
    """What a language model answered: one row for each question with an answer.

    Questions without one (refused, cut off, failed, not readable) have no row: they are neither right nor wrong.
    `answered` marks the others, and `unanswered` counts them.

    Attributes
    ----------
    ids : array of shape (n,)
        The id of each question, as text.
    prediction : array of shape (n,)
        The answer: the likeliest label, or the text if there are no labels.
    logits : array of shape (n, K) or None
        The log-probability of each label, all finite; None if the file has none, or the number of labels differs.
    signals : mapping of str to array of shape (n,)
        What else is known about the answers: numbers, NaN if missing, or strings.
    y : array of shape (n,) or None
        The index of the true label, if the truth is known and there are logits.
    correct : array of shape (n,) or None
        Whether the answer is right, if the truth is known.
    groups : array of shape (n,) or None
        What each question belongs to.
    labels : tuple of str or None
        The K labels.
    answered : array of shape (N,)
        Whether each question of the file has an answer, in the order of the file.
    all_ids : array of shape (N,)
        The ids of all questions of the file.
    unanswered : mapping of str to int
        How many questions have no answer, by reason.
    format : str
        What wrote the file.
    lines : array of shape (m, 2)
        The number of each line that was read, and the place of its question among all.
    problems : mapping of int to str
        Why lines were skipped, by their number.

    Examples
    --------
    See `read`.
    """

    ids: NDArray[Any]
    prediction: NDArray[Any]
    logits: Floats | None
    signals: dict[str, NDArray[Any]]
    y: Ints | None
    correct: Bools | None
    groups: Groups | None
    labels: tuple[str, ...] | None
    answered: Bools
    all_ids: NDArray[Any]
    unanswered: Mapping[str, int]
    format: str
    lines: Ints
    problems: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        facts = [f"n={len(self)}"]
        facts += [f"K={self.logits.shape[1]}"] if self.logits is not None else []
        facts += [f"accuracy={self.correct.mean():.3f}"] if self.correct is not None and len(self) else []
        facts += [f"signals={len(self.signals)}"] if self.signals else []
        facts += [f"groups={len(np.unique(self.groups))}"] if self.groups is not None else []
        facts += [f"unanswered={sum(self.unanswered.values())}"] if self.unanswered else []
        return f"Answers({', '.join(facts)})"
