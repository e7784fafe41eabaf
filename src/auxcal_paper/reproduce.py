"""auxcal reproduce: the paper's tables and figures."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal.cli.output import console

if TYPE_CHECKING:
    from rich.console import Console

    from auxcal_paper.results import Results
    from auxcal_paper.suites import Suite

INTERRUPTED = 130


def reproduce(
    suites: Annotated[list[str] | None, typer.Argument(help="The suites to run; --list shows them.")] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Show the suites, the data each needs, and which are available.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="Run every suite whose data are there.")] = False,
    data: Annotated[Path, typer.Option(help="The folder of the raw data.")] = Path("data"),
    out: Annotated[Path, typer.Option(help="Where pages, CSV files and figures are written.")] = Path("auxcal-results"),
    cache: Annotated[
        Path, typer.Option(help="Where bundles and finished fits are kept, so that a run can be resumed.")
    ] = Path("auxcal-cache"),
    random_states: Annotated[int, typer.Option(min=1, help="How many random states, from 0 up.")] = 3,
    methods: Annotated[list[str] | None, typer.Option("--methods", help="Only these, comma-separated.")] = None,
    paper_recipe: Annotated[
        bool,
        typer.Option(
            "--paper-recipe",
            help="Also train CCAC, CCAC-S and CCAC-T for as many epochs as the paper: some minutes a fit.",
        ),
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="The number of processes; one per core by default.")] = None,
    figures: Annotated[bool, typer.Option(help="Whether to draw the figures.")] = True,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also replace files in the output folder that no run wrote.")
    ] = False,
) -> None:
    """Reproduce the paper's tables and figures, with its numbers beside ours.

    Pages, CSV files and figures of an earlier run are replaced, unless they were changed since.
    """
    from auxcal_paper.methods import with_paper_recipe
    from auxcal_paper.pages._written import refuse_foreign
    from auxcal_paper.pages.writing import paths_of
    from auxcal_paper.suites import suite

    screen = console()
    if list_:
        _print_suites(screen, data, cache)
        return
    chosen = _ready(data, cache) if all_ else [suite(name).at(data) for name in dict.fromkeys(suites or ())]
    if not chosen:
        raise typer.BadParameter("name the suites to run, or give --all; auxcal reproduce --list shows them.")
    names = [name for text in methods for name in text.split(",")] if methods else None
    names = with_paper_recipe(names) if paper_recipe else names
    figures = figures and _can_draw()
    paths = paths_of(chosen, out, figures=figures)
    if not overwrite:
        refuse_foreign(out, paths)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside, its processes end too
    try:
        results = _run(screen, chosen, names, range(random_states), data, cache, jobs)
        _print_tables(screen, chosen, results)
        if not overwrite:
            refuse_foreign(out, paths)  # who has edited a page in the meantime keeps it
        _write(screen, chosen, results, data, cache, out, figures=figures)
    except KeyboardInterrupt:
        typer.echo("auxcal: stopped. Finished fits are kept: run the same command again to resume.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _can_draw() -> bool:
    """Whether figures can be drawn; what is missing is named before the work begins."""
    from auxcal._core.extras import is_installed

    if is_installed("plots"):
        return True
    typer.echo("No figures will be drawn: they need matplotlib. In a clone of auxcal: pip install '.[plots]'", err=True)
    return False


def _ready(data: Path, cache: Path) -> list[Suite]:
    """Return the suites that can be run here, and say which can't."""
    from auxcal._core.errors import MissingDataError
    from auxcal_paper.availability import is_ready
    from auxcal_paper.suites import SUITES

    here = [entry.at(data) for entry in SUITES]
    ready = [entry for entry in here if is_ready(entry, data, cache)]
    left_out = ", ".join(entry.name for entry in here if entry not in ready)
    advice = "auxcal reproduce --list shows how to get them."
    if not ready:
        raise MissingDataError(f"the data of no suite are in {data}; {advice}")
    if left_out:
        typer.echo(f"Left out, for want of their data: {left_out}; {advice}", err=True)
    return ready


def _print_suites(screen: Console, data: Path, cache: Path) -> None:
    from auxcal_paper.availability import availability
    from auxcal_paper.suites import SUITES

    for entry in (entry.at(data) for entry in SUITES):
        stands_for = ", ".join(" on ".join(pair) for pair in entry.stands_for) or "nothing of the paper: it is our own"
        screen.print(f"[bold]{entry.name}[/] stands for {stands_for}", highlight=False, markup=True)
        screen.print(f"  needs {', '.join(entry.needs)}", highlight=False)
        for line in availability(entry, data, cache):
            screen.print(f"  {line}", highlight=False, soft_wrap=True)


def _run(
    screen: Console,
    suites: list[Suite],
    methods: list[str] | None,
    random_states: range,
    data: Path,
    cache: Path,
    jobs: int | None,
) -> Results:
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    from auxcal_paper.runner import run

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as progress:

        def report(what: str) -> Callable[[float], None]:
            task: list[TaskID] = []

            def show(done: float) -> None:
                task.extend([] if task else [progress.add_task(what, total=1)])
                progress.update(task[0], completed=done)

            return show

        return run(
            suites,
            methods=methods,
            random_states=random_states,
            data_dir=data,
            cache_dir=cache,
            jobs=jobs,
            report=report,
        )


def _print_tables(screen: Console, suites: list[Suite], results: Results) -> None:
    from auxcal_paper.pages.claims import WORDS, verdicts
    from auxcal_paper.pages.tables import table
    from auxcal_paper.pages.terminal import to_rich

    for entry in suites:
        for shift in entry.shifts:
            here = results.where(suite=entry.name, shift=shift)
            shown = table(entry, shift, here)
            beside = ", the paper's numbers below ours" if shown.has_paper else ", for which the paper has no table"
            screen.print(to_rich(shown, f"{entry.name} {shift}{beside}"))
            for verdict in verdicts(entry, shift, here):
                sentence = f"{verdict.claim.text}: {WORDS[verdict.outcome]} ({verdict.text})."
                screen.print(sentence, highlight=False, soft_wrap=True)
            screen.print()


def _write(
    screen: Console,
    suites: list[Suite],
    results: Results,
    data: Path,
    cache: Path,
    out: Path,
    *,
    figures: bool,
) -> None:
    from auxcal_paper.pages._written import recorded
    from auxcal_paper.pages.figures import FIGURE_SHIFT, figure_methods, write_figures
    from auxcal_paper.pages.writing import paths_of, write_pages
    from auxcal_paper.runner import fitted

    with recorded(out, paths_of(suites, out, figures=figures)):
        for entry in suites:
            names = figure_methods(results.where(suite=entry.name, shift=FIGURE_SHIFT))
            if figures and names:
                calibrators, test = fitted(entry, FIGURE_SHIFT, names, data_dir=data, cache_dir=cache)
                write_figures(entry, calibrators, test, out)
        pages = write_pages(suites, results, out, data)
    screen.print(f"Written: {', '.join(str(page) for page in pages)}", soft_wrap=True, highlight=False)
