"""20 Newsgroups as scikit-learn gives it, cut into NG18, the classifier's own groups, and NG2, the others."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import fetch_20newsgroups

from auxcal_paper.datasets._catalog import dataset
from auxcal_paper.datasets._documents import Documents

NG2_TOPICS = ("comp.sys.mac.hardware", "rec.sport.hockey")
"""The two groups that the paper keeps from the classifier."""

NG18_CLASSES = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)
"""The other 18 groups in the order of the classifier's classes."""


def load_ng18(data_dir: Path) -> tuple[Documents, Documents]:
    """Read the training and the test documents of NG18 (10,136 and 6,748)."""
    train, test = load_newsgroups(data_dir)
    return train.of(NG18_CLASSES), test.of(NG18_CLASSES)


def load_ng2(data_dir: Path) -> Documents:
    """Read all documents of NG2 (1,962), training and test."""
    train, test = load_newsgroups(data_dir)
    return (train + test).of(NG2_TOPICS)


def load_newsgroups(data_dir: Path) -> tuple[Documents, Documents]:
    """Read the training and the test documents (11,314 and 7,532) from ``data_dir/scikit_learn_data``.

    Headers, quotes and footers stay, as in scikit-learn's default.
    """
    home = dataset("newsgroups").require(data_dir)
    return _read(home, "train"), _read(home, "test")


def _read(home: Path, subset: str) -> Documents:
    bunch = fetch_20newsgroups(data_home=home, subset=subset, shuffle=False, download_if_missing=False)
    names = bunch.target_names
    return Documents(tuple(bunch.data), tuple(names[number] for number in bunch.target))
