"""The runner: every suite × shift × method × random state, on all cores, resumed where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from joblib import Parallel, cpu_count, delayed, parallel_config

from auxcal._core.progress import Report, silent
from auxcal._core.text import one_of
from auxcal.calibrators import Calibrator
from auxcal.persistence import load
from auxcal.predictions import Predictions
from auxcal_paper.bundles import bundle
from auxcal_paper.code import code_digest
from auxcal_paper.methods import METHODS, SOURCE_SHIFT
from auxcal_paper.results import Results, Row
from auxcal_paper.suites import Suite, suite
from auxcal_paper.units import Unit, UnitCache, compute, digest_of

Tell = Callable[[str], Report]
Bundles = dict[tuple[str, str], Predictions]

_SECONDS = {
    "ccac": 5.0, "ccac-paper": 1500.0, "ccac-s": 4.0, "ccac-s-paper": 1200.0, "dirichlet": 2.0, "ccac-t": 1.0,
    "ccac-t-paper": 10.0, "ccac-x": 6.0,
}  # fmt: skip
"""The approximate time of a fit on 30,000 rows, where it matters; the longest go first."""
_SECONDS_OF_OTHERS = 0.5

_IDLE_SECONDS = 20  # after which an idle worker process ends, also if its run was killed


def run(
    suites: Iterable[Suite | str],
    *,
    methods: Sequence[str] | None = None,
    random_states: Sequence[int] = (0, 1, 2),
    data_dir: str | Path = "data",
    cache_dir: str | Path = "cache",
    jobs: int | None = None,
    report: Tell = lambda what: silent,
) -> Results:
    """Fit every method on every shift of the suites, and measure it on the test part.

    Every finished unit is cached at once, so an interrupted run can be resumed. It loses only the units in progress,
    and gives the same numbers.

    Parameters
    ----------
    suites : iterable of Suite or str
        The suites, or their names.
    methods : sequence of str, optional
        Names of `METHODS`; by default all but those by the paper's recipe. What a suite leaves out stays out.
    random_states : sequence of int
        Each draws its own fit, select and test part.
    data_dir : path
        The folder of the raw data, read only where a bundle must be built.
    cache_dir : path
        Where bundles and finished units are kept; created if it does not exist.
    jobs : int, optional
        Processes at once; by default one for each core.
    report : callable
        ``report(what)`` is called for each long task, and returns a callable that takes the share done.

    Returns
    -------
    Results
        One row for each suite, shift, method and random state, in this order.

    Examples
    --------
    >>> import tempfile
    >>> from auxcal_paper import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(["r8-dan"], methods=["uncalibrated"], random_states=[0], cache_dir=folder, jobs=1)
    >>> [(row.shift, row.n_test) for row in results]
    [('D0', 656), ('D1', 1500), ('OOD', 1500)]
    """
    chosen = [entry if isinstance(entry, Suite) else suite(entry).at(Path(data_dir)) for entry in suites]
    names = _checked_methods(methods)
    bundles = _bundles(chosen, Path(data_dir), Path(cache_dir) / "bundles", report)
    units = _units(chosen, names, random_states, bundles)
    cache = UnitCache(Path(cache_dir) / "results")
    rows = {unit: row for unit in units if (row := cache.row(unit)) is not None}
    for unit, row in _computed([unit for unit in units if unit not in rows], bundles, cache, jobs, report):
        rows[unit] = row
    return Results(tuple(rows[unit] for unit in units))


def fitted(
    entry: Suite,
    shift: str,
    methods: Sequence[str],
    *,
    random_state: int = 0,
    data_dir: str | Path = "data",
    cache_dir: str | Path = "cache",
) -> tuple[dict[str, Calibrator], Predictions]:
    """Return the calibrators that `run` fitted on a shift, by method, and its test part.

    What is not in the cache is fitted now.
    """
    bundles = _bundles([entry], Path(data_dir), Path(cache_dir) / "bundles", lambda what: silent)
    cache = UnitCache(Path(cache_dir) / "results")
    calibrators = {}
    for unit in _units([entry], list(methods), [random_state], bundles):
        if unit.shift == shift:
            calibrator = cache.calibrator(unit)
            if calibrator is None:
                list(_in_parallel([unit], bundles, cache, jobs=1))
                calibrator = load(cache.folder / f"{unit.key}.safetensors")
            calibrators[unit.method] = calibrator
    whole = bundles[entry.name, shift]
    return calibrators, whole.split(*entry.parts(len(whole)), random_state=random_state)[2]


def _checked_methods(methods: Sequence[str] | None) -> list[str]:
    if methods is None:
        return [name for name, method in METHODS.items() if not method.is_by_paper_recipe]
    labels = {name: method.label for name, method in METHODS.items()}
    chosen = {one_of(name, labels, "the method") for name in methods}
    return [name for name in METHODS if name in chosen]


def _bundles(suites: list[Suite], data_dir: Path, cache_dir: Path, tell: Tell) -> Bundles:
    """Return the bundle of every suite and shift; build those that are missing."""
    return {
        (entry.name, shift): bundle(entry, shift, data_dir, cache_dir, tell(f"building {entry.name} {shift}"))
        for entry in suites
        for shift in entry.shifts
    }


def _units(suites: list[Suite], methods: list[str], random_states: Sequence[int], bundles: Bundles) -> list[Unit]:
    digests = {where: digest_of(data) for where, data in bundles.items()}

    def unit(entry: Suite, shift: str, method: str, random_state: int) -> Unit:
        source = None
        if (name := METHODS[method].source) is not None:
            source = unit(entry, SOURCE_SHIFT, name, random_state)
        where = (entry.name, shift)
        sizes = entry.parts(len(bundles[where]))
        code = code_digest(METHODS[method].calibrator)
        return Unit(*where, method, random_state, sizes, digests[where], code, source)

    return [
        unit(entry, shift, method, random_state)
        for entry in suites
        for shift, method, random_state in product(entry.shifts, methods, random_states)
        if not entry.leaves_out(method) and METHODS[method].applies_to(shift)
    ]


def _computed(
    units: list[Unit], bundles: Bundles, cache: UnitCache, jobs: int | None, tell: Tell
) -> Iterator[tuple[Unit, Row]]:
    """Compute units as cores become free, the longest first; transfers, which start from another's calibrator, last."""
    costs = {unit: _cost(unit, bundles[unit.suite, unit.shift].n_classes) for unit in units}
    done, total, fitting = 0.0, sum(costs.values()), tell("fitting")
    for later in (False, True):
        wave = [unit for unit in units if (unit.source is not None) == later]
        wave.sort(key=costs.__getitem__, reverse=True)
        for unit, row in _in_parallel(wave, bundles, cache, min(jobs or cpu_count(), max(1, len(wave)))):
            done += costs[unit]
            fitting(done / total)
            yield unit, row


def _cost(unit: Unit, n_classes: int) -> float:
    return _SECONDS.get(unit.method, _SECONDS_OF_OTHERS) * (unit.sizes[0] / 30_000) * max(1.0, n_classes / 30)


def _in_parallel(units: list[Unit], bundles: Bundles, cache: UnitCache, jobs: int) -> Iterator[tuple[Unit, Row]]:
    with parallel_config("loky", idle_worker_timeout=_IDLE_SECONDS):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        yield from parallel(
            delayed(compute)(
                unit,
                bundles[unit.suite, unit.shift],
                bundles[unit.suite, unit.source.shift] if unit.source else None,
                cache,
            )
            for unit in units
        )
