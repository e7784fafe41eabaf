"""The list of data sets, and the download that fills it."""

import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace
from functools import partial

import pytest

from auxcal._core.errors import FileFormatError, InvalidInputError, MissingDataError
from auxcal_paper.datasets import DATASETS, DataSet, dataset, download
from auxcal_paper.datasets import _catalog as catalog
from auxcal_paper.datasets.cifar10 import load_cifar10
from auxcal_paper.datasets.glove import load_glove
from auxcal_paper.datasets.newsgroups import load_ng18
from auxcal_paper.datasets.reuters import load_r8
from auxcal_paper.suites import SUITES, suite


def test_names_and_folders_are_unique():
    assert len({entry.name for entry in DATASETS}) == len(DATASETS)
    assert len({entry.folder for entry in DATASETS}) == len(DATASETS)


@pytest.mark.parametrize("entry", DATASETS, ids=lambda entry: entry.name)
def test_a_missing_data_set_says_how_to_get_it(entry, tmp_path):
    assert not entry.is_present(tmp_path)
    with pytest.raises(MissingDataError, match=r"expected .* not found\. Get ") as caught:
        entry.require(tmp_path)
    assert entry.source in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("load", [load_r8, load_ng18, load_glove, partial(load_cifar10, part="test")])
def test_a_loader_says_how_to_get_its_data(load, tmp_path):
    with pytest.raises(MissingDataError, match="Get "):
        load(tmp_path)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match="cifar10, cifar100"):
        dataset("mnist")
    with pytest.raises(InvalidInputError, match="cifar10-resnet20, cifar10-resnet56"):
        suite("mnist-lenet")


@pytest.mark.parametrize("entry", SUITES, ids=lambda entry: entry.name)
def test_every_suite_needs_known_data_and_states_its_differences(entry):
    assert [dataset(name).name for name in entry.needs] == list(entry.needs)
    assert set(entry.differences) <= set(entry.shifts)
    assert suite(entry.name) is entry


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Make an archive of a data set "toy" and put the set into the list."""

    def make(kind="tar.gz", member="toy/data.txt", md5=None):
        path = tmp_path / f"toy.{kind}"
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as file:
                file.writestr(member, "numbers")
        else:
            with tarfile.open(path, "w:gz") as file:
                info = tarfile.TarInfo(member)
                info.size = 7
                file.addfile(info, io.BytesIO(b"numbers"))
        digest = hashlib.md5(path.read_bytes()).hexdigest()
        entry = DataSet("toy", "toy", ("data.txt",), "it somewhere", path.as_uri(), md5 or digest)
        monkeypatch.setattr(catalog, "DATASETS", (entry,))
        return tmp_path / "all"

    return make


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_download_unpacks_what_it_checked(archive, kind):
    data_dir = archive(kind)
    assert (download("toy", data_dir) / "data.txt").read_text() == "numbers"
    assert [path.name for path in data_dir.iterdir()] == ["toy"]
    download("toy", data_dir)  # what is there stays


def test_a_wrong_checksum_leaves_nothing_behind(archive):
    data_dir = archive(md5="0" * 32)
    with pytest.raises(FileFormatError, match="expected the MD5 sum 0000"):
        download("toy", data_dir)
    assert list(data_dir.iterdir()) == []


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_an_archive_can_not_write_outside(archive, tmp_path, kind):
    data_dir = archive(kind, member="../../escaped.txt")
    with pytest.raises((FileFormatError, tarfile.TarError)):
        download("toy", data_dir)
    assert not list(tmp_path.rglob("escaped.txt"))
    assert list(data_dir.iterdir()) == []


def test_a_part_of_a_data_set_is_not_overwritten(archive):
    data_dir = archive()
    (data_dir / "toy").mkdir(parents=True)
    with pytest.raises(FileFormatError, match="Remove it"):
        download("toy", data_dir)


def test_a_set_without_an_archive_says_where_it_is(archive, monkeypatch, tmp_path):
    archive()
    monkeypatch.setattr(catalog, "DATASETS", (replace(catalog.DATASETS[0], url=""),))
    with pytest.raises(InvalidInputError, match="it somewhere"):
        download("toy", tmp_path / "all")
