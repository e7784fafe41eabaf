"""Download an official archive, check it and unpack it."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal_paper.datasets._catalog import DataSet, dataset


def download(name: str, data_dir: Path) -> Path:
    """Download a data set into ``data_dir`` and return its folder; existing files are kept.

    The archive is checked against its published MD5 sum before a byte of it is unpacked, and unpacked next to its
    destination first, so that an interrupted download leaves nothing behind.
    """
    entry = dataset(name)
    if not entry.is_present(data_dir):
        if not entry.url:
            raise InvalidInputError(
                f"{entry.name}: expected a data set with an official archive; it has none that can be "
                f"fetched as it is. Get {entry.source}."
            )
        fetch(entry, Path(data_dir))
    return entry.require(data_dir)


def fetch(entry: DataSet, data_dir: Path) -> None:
    """Download, check and unpack the archive of a data set."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data_dir, prefix=f".{entry.name}.") as temporary:
        archive, unpacked = Path(temporary) / entry.url.rsplit("/", 1)[1], Path(temporary) / "unpacked"
        with urllib.request.urlopen(entry.url) as response, archive.open("wb") as file:
            shutil.copyfileobj(response, file)
        _check(archive, entry)
        _unpack(archive, unpacked)
        if not (unpacked / entry.folder).is_dir():
            raise FileFormatError(
                f"{entry.url}: expected an archive with the folder {entry.folder}; got "
                f"{', '.join(sorted(path.name for path in unpacked.iterdir())[:5])}. Get {entry.source}."
            )
        target = data_dir / entry.folder
        if target.exists():
            raise FileFormatError(
                f"{target}: expected a whole data set or nothing; got a part of one. Remove it and try again."
            )
        (unpacked / entry.folder).rename(target)


def _check(archive: Path, entry: DataSet) -> None:
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != entry.md5:
        raise FileFormatError(
            f"{entry.url}: expected the MD5 sum {entry.md5}; got {found}. The download broke off or the file "
            f"has changed: try again."
        )


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)  # zipfile drops absolute paths and ".." by itself
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
