"""Reuters-21578, and the two sets of single-topic documents that are made from it: R8 and R52.

The rule, which gives the published counts on the official files (R8 5,485 and 2,189, R52 6,532 and 2,568):

1. ModApté split: documents with ``TOPICS="YES"``, for training those with ``LEWISSPLIT="TRAIN"`` (9,603),
   for testing those with ``LEWISSPLIT="TEST"`` (3,299).
2. Only documents with exactly one topic remain, counted over all topics and not over the frequent ones alone.
3. R52 keeps the topics that then still have both a training and a test document. 4. R8 keeps those of R52
that are among the ten topics with most documents *before* step 2 (the set R10). Of the
   ten, "wheat" and "corn" have no single-topic document, so eight remain. The eight topics of R52 with most
   documents would be other ones: "money-supply" has more single-topic documents than "grain".
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from auxcal_paper.datasets._catalog import dataset
from auxcal_paper.datasets._documents import Documents

R8_CLASSES = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
"""The topics of R8 in the order of the classifier's classes."""

_ARTICLE = re.compile(r"<REUTERS(?P<attributes>[^>]*)>(?P<content>.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>")
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
_HEADING = re.compile(r"<(AUTHOR|DATELINE)>.*?</\1>", re.DOTALL)
_TAG = re.compile(r"</?[A-Z]+>")


@dataclass(frozen=True)
class Article:
    """One document of the ModApté split with all its topics.

    Parameters
    ----------
    text : str
        Title and body.
    topics : tuple of str
        None, one or several topics.
    part : str
        "TRAIN" or "TEST".
    """

    text: str
    topics: tuple[str, ...]
    part: str


def load_r8(data_dir: Path) -> tuple[Documents, Documents]:
    """Read the training and the test documents of R8 (5,485 and 2,189) from ``data_dir/reuters21578``."""
    return select_r8(read_articles(data_dir))


def read_articles(data_dir: Path) -> list[Article]:
    """Read the ModApté split from the official SGML files in ``data_dir/reuters21578``."""
    files = sorted(dataset("reuters").require(data_dir).glob("reut2-0*.sgm"))
    return [article for file in files for article in parse(file.read_text(encoding="latin-1"))]


def parse(sgml: str) -> Iterator[Article]:
    """Find the articles of the ModApté split in the text of an SGML file.

    Examples
    --------
    >>> from auxcal_paper.datasets.reuters import parse
    >>> sgml = '''<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="1"><TOPICS><D>ship</D></TOPICS>
    ... <TEXT><TITLE>PORT OPENS</TITLE><BODY>Smith &amp; Sons said.</BODY></TEXT></REUTERS>'''
    >>> next(parse(sgml))
    Article(text='PORT OPENS Smith & Sons said.', topics=('ship',), part='TEST')
    """
    for match in _ARTICLE.finditer(sgml):
        attributes = dict(_ATTRIBUTE.findall(match["attributes"]))
        part = attributes.get("LEWISSPLIT", "")
        if attributes.get("TOPICS") == "YES" and part in ("TRAIN", "TEST"):
            yield Article(_text(match["content"]), _topics(match["content"]), part)


def select_r52(articles: Iterable[Article]) -> tuple[Documents, Documents]:
    """Keep the documents with exactly one topic, of the topics found in both parts."""
    single = [article for article in articles if len(article.topics) == 1]
    train, test = (_documents(single, part) for part in ("TRAIN", "TEST"))
    both = set(train.topics) & set(test.topics)
    return train.of(both), test.of(both)


def select_r8(articles: Iterable[Article]) -> tuple[Documents, Documents]:
    """Keep the documents of R52 whose topic is among the ten with most documents, single-topic or not."""
    articles = list(articles)
    counts = Counter(topic for article in articles for topic in article.topics)
    frequent = [topic for topic, _ in counts.most_common(10)]
    train, test = select_r52(articles)
    return train.of(frequent), test.of(frequent)


def _documents(single: list[Article], part: str) -> Documents:
    chosen = [article for article in single if article.part == part]
    return Documents(tuple(a.text for a in chosen), tuple(a.topics[0] for a in chosen))


def _topics(content: str) -> tuple[str, ...]:
    found = _TOPICS.search(content)
    return tuple(_TOPIC.findall(found[1])) if found else ()


def _text(content: str) -> str:
    found = _TEXT.search(content)
    without_heading = _HEADING.sub(" ", found[1] if found else "")
    return " ".join(html.unescape(_TAG.sub(" ", without_heading)).split())
