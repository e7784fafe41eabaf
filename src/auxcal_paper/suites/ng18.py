"""NG18 as it is (D0) and under D1 and OOD: a convolutional network over GloVe vectors on 18 newsgroups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from auxcal._core.progress import Report
from auxcal_paper.datasets._documents import Documents, class_map
from auxcal_paper.datasets.glove import load_glove
from auxcal_paper.datasets.newsgroups import NG18_CLASSES, load_ng2, load_ng18
from auxcal_paper.datasets.reuters import load_r8
from auxcal_paper.shifts.mixtures import Mixture
from auxcal_paper.suites._suite import NOT_IN_PAPER, Suite
from auxcal_paper.suites._text import Labelled, builder, clean, noisy, trained_once

if TYPE_CHECKING:
    from auxcal_paper.classifiers.dan import TextClassifier

NG2_AS_NG18 = {"comp.sys.mac.hardware": "comp.sys.ibm.pc.hardware", "rec.sport.hockey": "rec.sport.baseball"}
"""What the paper takes the two groups of NG2 for."""


def out_of_distribution(
    train: Documents, ng2: Documents, r8: Documents, sizes: tuple[int, int, int], rng: np.random.Generator
) -> Labelled:
    """Draw training documents of NG18, and some of NG2 and of R8, with the class of each; R8 has none."""
    own, foreign = class_map(NG18_CLASSES), class_map(NG18_CLASSES, NG2_AS_NG18)
    mixed = Mixture(sizes, (own, foreign, {}))((train.topics, ng2.topics, r8.topics), rng)
    return mixed.take(train.texts, ng2.texts, r8.texts), mixed.y


def _d0(data_dir: Path) -> Labelled:
    return clean(load_ng18(data_dir)[1], NG18_CLASSES)


def _d1(data_dir: Path) -> Labelled:
    return noisy(*load_ng18(data_dir), NG18_CLASSES, (3252, 6748), np.random.default_rng(1))


def _ood(data_dir: Path) -> Labelled:
    train, r8 = load_ng18(data_dir)[0], load_r8(data_dir)[0]
    return out_of_distribution(train, load_ng2(data_dir), r8, (2553, 1962, 5485), np.random.default_rng(2))


@trained_once
def _classifier(data_dir: Path, report: Report) -> TextClassifier:
    from auxcal_paper.classifiers.dan import train_convolutional

    train, _ = load_ng18(data_dir)
    y = train.y(NG18_CLASSES)
    return train_convolutional(train.texts, y, load_glove(data_dir), random_state=0, report=report)


_CLASSIFIER = (
    "The classifier is trained by our own code in torch on the 10,136 training documents of NG18, for 8 "
    "epochs instead of 50, from GloVe vectors of 50 numbers that learn with the rest; the number and width "
    "of its filters, which the paper leaves open, are ours."
)

NG18_DAN = Suite(
    name="ng18-dan",
    stands_for=(("DAN", "20 Newsgroups"),),
    shifts=("D0", "D1", "OOD"),
    needs=("newsgroups", "glove", "reuters"),
    sizes=(6000, 1000, 3000),
    classifier=_CLASSIFIER,
    differences={
        "D0": f"{NOT_IN_PAPER} All 6,748 test documents.",
        "D1": "The paper's 3,252 training and 6,748 test documents; the noise is our own code, "
        "with the semantics of nlpaug 0.0.14 and its default strengths, all four operations one after the other.",
        "OOD": "The paper's 2,553 documents of NG18, 1,962 of NG2 and 5,485 of R8.",
    },
    build=builder({"D0": _d0, "D1": _d1, "OOD": _ood}, _classifier),
)
"""The paper's experiment on 20 Newsgroups."""
