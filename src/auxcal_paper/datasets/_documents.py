"""Labelled texts, the form of every document data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from auxcal._core.arrays import NO_CLASS, Ints


@dataclass(frozen=True)
class Documents:
    """Texts and the name of the topic of each.

    Parameters
    ----------
    texts : tuple of str
        The documents.
    topics : tuple of str
        The topic of each document, as named in its data set.

    Examples
    --------
    >>> from auxcal_paper.datasets._documents import Documents
    >>> documents = Documents(("rates rose", "a cargo left", "wages rose"), ("interest", "ship", "income"))
    >>> documents.y(["interest", "ship"])
    array([ 0,  1, -1])
    >>> documents.of(["ship"]).texts
    ('a cargo left',)
    """

    texts: tuple[str, ...]
    topics: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Iterable[int] | Ints) -> Documents:
        """Return the given documents, in the given order."""
        chosen = [int(row) for row in rows]
        return Documents(tuple(self.texts[i] for i in chosen), tuple(self.topics[i] for i in chosen))

    def of(self, topics: Iterable[str]) -> Documents:
        """Return the documents of the given topics."""
        wanted = frozenset(topics)
        return self.take(row for row, topic in enumerate(self.topics) if topic in wanted)

    def y(self, classes: Sequence[str]) -> Ints:
        """Return the class index of every document; `NO_CLASS` if its topic is not a class."""
        index = class_map(classes)
        return np.array([index.get(topic, NO_CLASS) for topic in self.topics], dtype=np.intp)

    def __add__(self, other: Documents) -> Documents:
        return Documents(self.texts + other.texts, self.topics + other.topics)


def class_map(classes: Sequence[str], same: Mapping[str, str] | None = None) -> dict[str, int]:
    """Return the class index of every topic that has a class.

    Parameters
    ----------
    classes : sequence of str
        The topics that are classes, in order.
    same : mapping of str to str
        Other topics, and the class that each is taken for.

    Examples
    --------
    >>> from auxcal_paper.datasets._documents import class_map
    >>> class_map(["earn", "ship"], same={"jobs": "earn"})
    {'earn': 0, 'ship': 1, 'jobs': 0}
    """
    index = {name: number for number, name in enumerate(classes)}
    return index | {topic: index[name] for topic, name in (same or {}).items()}
