"""What a suite can be run from: bundles of the package, of the cache, or raw data."""

from __future__ import annotations

from pathlib import Path

from auxcal_paper.bundles import bundle_path, is_packaged
from auxcal_paper.datasets import DataSet, dataset
from auxcal_paper.suites import Suite

_MISSING = "missing"


def availability(suite: Suite, data_dir: Path, cache_dir: Path) -> list[str]:
    """Say where the bundles of a suite come from, and how to get what is missing, one line for each.

    Examples
    --------
    >>> from pathlib import Path
    >>> from auxcal_paper.availability import availability
    >>> from auxcal_paper.suites import suite
    >>> availability(suite("r8-dan"), Path("nowhere"), Path("nowhere"))
    ['D0, D1, OOD: packaged']
    """
    shifts_by_status: dict[str, list[str]] = {}
    for shift in suite.shifts:
        shifts_by_status.setdefault(_status(suite, shift, data_dir, cache_dir), []).append(shift)
    lines = [f"{', '.join(shifts)}: {status}" for status, shifts in shifts_by_status.items()]
    if any(status.startswith(_MISSING) for status in shifts_by_status):
        lines += [f"{entry.name}: get {entry.source}" for entry in _absent(suite, data_dir)]
    return lines


def is_ready(suite: Suite, data_dir: Path, cache_dir: Path) -> bool:
    """Whether every bundle of a suite exists or can be built from the available data.

    Examples
    --------
    >>> from pathlib import Path
    >>> from auxcal_paper.availability import is_ready
    >>> from auxcal_paper.suites import suite
    >>> is_ready(suite("imagenet-resnet50"), Path("nowhere"), Path("nowhere"))
    False
    """
    return not any(_status(suite, shift, data_dir, cache_dir).startswith(_MISSING) for shift in suite.shifts)


def _status(suite: Suite, shift: str, data_dir: Path, cache_dir: Path) -> str:
    if is_packaged(suite, shift):
        return "packaged"
    if bundle_path(suite, shift, cache_dir / "bundles").is_file():
        return "cached"
    absent = _absent(suite, data_dir)
    if not absent:
        return "to be built from the data"
    return f"{_MISSING}, needs {', '.join(entry.name for entry in absent)} in {data_dir}"


def _absent(suite: Suite, data_dir: Path) -> list[DataSet]:
    return [entry for entry in map(dataset, suite.needs) if not entry.is_present(data_dir)]
