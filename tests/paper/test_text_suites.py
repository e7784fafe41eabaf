from pathlib import Path

import numpy as np
import pytest

from auxcal._core.arrays import NO_CLASS
from auxcal._core.errors import InvalidInputError
from auxcal._core.progress import Report
from auxcal_paper.classifiers.dan import TextClassifier, train_dan
from auxcal_paper.classifiers.tokenizer import Tokenizer
from auxcal_paper.datasets._documents import Documents
from auxcal_paper.datasets.newsgroups import NG2_TOPICS, NG18_CLASSES
from auxcal_paper.datasets.reuters import R8_CLASSES
from auxcal_paper.suites import ng18, r8
from auxcal_paper.suites._suite import Suite
from auxcal_paper.suites._text import builder, noisy, trained_once
from auxcal_paper.suites.ng18 import NG18_DAN
from auxcal_paper.suites.r8 import R8_DAN

SUITES = pytest.mark.parametrize("suite", [R8_DAN, NG18_DAN], ids=lambda suite: suite.name)


def documents(*topics: str, kind: str = "") -> Documents:
    return Documents(tuple(f"{kind} document about {topic}" for topic in topics), topics)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@SUITES
def test_missing_data_is_named_before_anything_is_trained(suite: Suite, tmp_path: Path) -> None:
    for shift in suite.shifts:
        with pytest.raises(FileNotFoundError, match="Get"):
            suite.build(shift, tmp_path, lambda done, total: pytest.fail("trained without data"))


def test_r8_label_map() -> None:
    other = documents("income", "jobs", "money-supply", "coffee", "gold")
    own = documents(*R8_CLASSES)
    texts, y = r8.out_of_distribution(other, own, own, (5, 8, 8), rng())
    labels = dict(zip(texts, y.tolist(), strict=True))
    earn, money = R8_CLASSES.index("earn"), R8_CLASSES.index("money-fx")
    assert [labels[text] for text in other.texts] == [earn, earn, money, NO_CLASS, NO_CLASS]
    assert [labels[text] for text in own.texts] == list(range(8))


def test_r8_shares() -> None:
    other, train, test = (
        documents("tea", "tin", "cpu"),
        documents("earn", "acq", "ship"),
        documents("crude", "trade"),
    )
    texts, y = r8.out_of_distribution(other, train, test, (2, 1, 2), rng())
    assert [sum(text in part.texts for text in texts) for part in (other, train, test)] == [2, 1, 2]
    assert (y == NO_CLASS).sum() == 2


def test_ng18_label_map() -> None:
    own, ng2, news = documents(*NG18_CLASSES), documents(*NG2_TOPICS), documents("earn", "ship")
    texts, y = ng18.out_of_distribution(own, ng2, news, (18, 2, 2), rng())
    labels = dict(zip(texts, y.tolist(), strict=True))
    assert [labels[text] for text in own.texts] == list(range(18))
    computer, sport = (NG18_CLASSES.index(name) for name in ("comp.sys.ibm.pc.hardware", "rec.sport.baseball"))
    assert [labels[text] for text in ng2.texts] == [computer, sport]
    assert [labels[text] for text in news.texts] == [NO_CLASS, NO_CLASS]


@pytest.mark.parametrize("classes", [R8_CLASSES, NG18_CLASSES])
def test_d1_has_noise_and_the_classes_of_the_drawn(classes: tuple[str, ...]) -> None:
    train, test = documents(*classes, kind="training"), documents(*classes, kind="testing")
    texts, y = noisy(train, test, classes, (3, 5), rng())
    assert len(texts) == len(y) == 8
    assert len(set(y[:3])) == 3
    assert NO_CLASS not in y
    assert not set(texts) & set(train.texts + test.texts)
    again, _ = noisy(train, test, classes, (3, 5), rng())
    assert again == texts


def test_a_suite_trains_once_for_each_folder(tmp_path: Path) -> None:
    trained = []

    @trained_once
    def train(data_dir: Path, report: object) -> TextClassifier:
        trained.append(data_dir)
        return TextClassifier(Tokenizer({}, 1), None)  # type: ignore[arg-type]

    first = train(tmp_path, print)
    assert train(tmp_path, lambda done: None) is first
    assert train(tmp_path / "other", print) is not first
    assert len(trained) == 2


def test_build_asks_the_classifier_about_the_documents_of_the_shift(tmp_path: Path) -> None:
    shares: list[float] = []

    def classifier(data_dir: Path, report: Report) -> TextClassifier:
        assert data_dir == tmp_path
        return train_dan(["wheat corn", "bank rate"] * 8, np.array([0, 1] * 8), epochs=20, report=report)

    build = builder({"D1": lambda data_dir: (["corn", "rate", "rate"], np.array([0, 1, NO_CLASS]))}, classifier)
    bundle = build("D1", tmp_path, shares.append)
    assert bundle.correct.tolist() == [True, True, False]
    assert shares[-1] == 1
    with pytest.raises(InvalidInputError, match="shift must be one of D1; got 'D2'"):
        build("D2", tmp_path, lambda done: None)
