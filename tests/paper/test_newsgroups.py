import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from auxcal_paper.datasets import newsgroups
from auxcal_paper.datasets.newsgroups import (
    NG2_TOPICS,
    NG18_CLASSES,
    load_newsgroups,
    load_ng2,
    load_ng18,
)


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which scikit-learn finds one document of each of the 20 groups in either part."""
    names = sorted(NG18_CLASSES + NG2_TOPICS)

    def fetch(*, data_home: Path, subset: str, shuffle: bool, download_if_missing: bool) -> Any:
        assert data_home == tmp_path / "scikit_learn_data"
        assert not shuffle
        assert not download_if_missing
        texts = [f"{subset} {name}" for name in names]
        return SimpleNamespace(data=texts, target=range(20), target_names=names)

    (tmp_path / "scikit_learn_data").mkdir()
    (tmp_path / "scikit_learn_data" / "20news-bydate_py3.pkz").touch()
    monkeypatch.setattr(newsgroups, "fetch_20newsgroups", fetch)
    return tmp_path


def test_every_document_keeps_its_group(data_dir: Path) -> None:
    train, test = load_newsgroups(data_dir)
    assert len(train) == len(test) == 20
    assert all(text == f"train {topic}" for text, topic in zip(train.texts, train.topics, strict=True))
    assert all(text == f"test {topic}" for text, topic in zip(test.texts, test.topics, strict=True))


def test_ng18_and_ng2_share_the_groups_out(data_dir: Path) -> None:
    train, test = load_ng18(data_dir)
    assert train.topics == test.topics == NG18_CLASSES
    assert train.y(NG18_CLASSES).tolist() == list(range(18))
    assert sorted(load_ng2(data_dir).texts) == sorted(f"{part} {t}" for part in ("train", "test") for t in NG2_TOPICS)


@pytest.mark.skipif("AUXCAL_DATA" not in os.environ, reason="set AUXCAL_DATA to the folder of the real data sets")
def test_the_published_counts() -> None:
    data_dir = Path(os.environ["AUXCAL_DATA"])
    assert [len(part) for part in load_newsgroups(data_dir)] == [11314, 7532]
    assert [len(part) for part in load_ng18(data_dir)] == [10136, 6748]
    assert len(load_ng2(data_dir)) == 1962
