"""Bundles: the predictions of a suite's classifier on one shift, packaged, cached or built."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from zipfile import is_zipfile

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.progress import Report, silent
from auxcal.predictions import Predictions
from auxcal_paper.datasets import dataset
from auxcal_paper.suites._suite import Suite

SPEC_VERSION = 2
"""Increase it when the builders change their output: that invalidates the cached files."""


def bundle(
    suite: Suite,
    shift: str,
    data_dir: Path,
    cache_dir: Path,
    report: Report = silent,
) -> Predictions:
    """Return a bundle from the package, else from the cache, else build it and put it into the cache.

    A file of the cache is written whole or not at all, so an interrupted run leaves no partial file.

    Parameters
    ----------
    suite : Suite
        What to build.
    shift : str
        One of the suite's shifts.
    data_dir : Path
        The folder of the raw data, read only if the bundle must be built.
    cache_dir : Path
        Where built bundles are kept; created if it does not exist.
    report : callable
        Called with the share of a build that is done.

    Returns
    -------
    Predictions
        The rows of all three parts, not yet split.
    """
    if shift not in suite.shifts:
        raise InvalidInputError(
            f"shift must be one of {', '.join(suite.shifts)}, which {suite.name} has; got {shift!r}."
        )
    ready = _packaged(suite, shift) or _cached(bundle_path(suite, shift, cache_dir))
    return ready or _built(suite, shift, Path(data_dir), Path(cache_dir), report)


def bundle_path(suite: Suite, shift: str, cache_dir: Path) -> Path:
    """Return the path of a bundle in the cache; its name contains a hash of its specification."""
    spec = [SPEC_VERSION, suite.name, shift, list(suite.sizes)]
    spec += [list(suite.needs)] if suite.official else []  # else a bundle of one would pass for one of the other
    key = hashlib.sha256(json.dumps(spec).encode()).hexdigest()[:12]
    return Path(cache_dir) / f"{suite.name}-{shift}-{key}.npz"


def is_packaged(suite: Suite, shift: str) -> bool:
    """Whether the bundle comes with the package, so that no raw data are needed."""
    return _packaged_file(suite, shift) is not None


def _packaged(suite: Suite, shift: str) -> Predictions | None:
    file = _packaged_file(suite, shift)
    if file is None:
        return None
    with as_file(file) as path:
        return Predictions.load(path)


def _packaged_file(suite: Suite, shift: str) -> Traversable | None:
    """Return the file of a bundle that comes with the package; those that `auxcal demo` shows lie with the library."""
    folders = files("auxcal_paper").joinpath("packaged"), files("auxcal").joinpath("cli", "demo_data")
    found = (folder.joinpath(f"{suite.name}-{shift}.npz") for folder in folders)
    return next((file for file in found if file.is_file()), None)


def _cached(path: Path) -> Predictions | None:
    if not is_zipfile(path):
        return None
    try:
        return Predictions.load(path)
    except FileFormatError:  # a damaged file is rebuilt
        return None


def _built(
    suite: Suite,
    shift: str,
    data_dir: Path,
    cache_dir: Path,
    report: Report,
) -> Predictions:
    for name in suite.needs:
        dataset(name).require(data_dir)
    predictions = suite.build(shift, data_dir, report)
    cache_dir.mkdir(parents=True, exist_ok=True)
    predictions.save(bundle_path(suite, shift, cache_dir))
    return predictions
