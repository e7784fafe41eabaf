"""How good each method is for the number of labels that it gets.

    python -m benchmarks.evidence.how_many_labels [FOLDER]

Every method has the same labels for everything it does, its search of hyper-parameters included; CCAC-T starts from a
calibrator that was fitted on D1. Where nothing shifts, the paper's networks are left out, whose training would take
most of the time; with 100 classes and more also the methods that learn a weight for each pair of them without a
penalty. Writes into the folder, docs/figures by default: labels.csv, tables for the page, and the figures labels.png
("Which method should I use") and label-curves.png ("The evidence"). Takes about half an hour, and goes on where it was
stopped; to measure again, delete labels.csv.
"""

import sys
from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path

from benchmarks.results import BUNDLES, CLEAN, ResultsFile, paired, parts, write_table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from auxcal import Predictions
from auxcal.calibrators import Calibrator
from auxcal.plots.style import (
    CORRECT,
    INK,
    MUTED,
    WRONG,
    apply_style,
    figure_legend,
    horizontal_grid,
    house_style,
    new_figure,
)
from auxcal_paper import METHODS, Results
from auxcal_paper.methods import SOURCE_SHIFT

LABELS = (100, 200, 500, 1_000, 3_000, 10_000, 30_000)
RANDOM_STATES = (0, 1, 2)

NETWORKS = ("ccac", "ccac-s", "ccac-t")
UNPENALISED = ("matrix", "dirichlet")
MANY_CLASSES = 100

GUIDE = {
    "ccac": CORRECT,
    "ccac-s": "#56B4E9",
    "ccac-t": WRONG,
    "isotonic": "#009E73",
    "temperature": "#E69F00",
    "matrix": "#CC79A7",
    "uncalibrated": MUTED,
    "ccac-x": INK,
}
GUIDE_BUNDLES = {
    ("cifar10-resnet20", "OOD"): "OOD: images of other classes",
    ("cifar10-resnet20", "D1"): "D1: turned, moved, zoomed",
}
GREY = "#c6cdd4"
EVIDENCE = dict.fromkeys((method.name for method in METHODS.values() if not method.variant_of), GREY) | {
    "temperature": "#E69F00",
    "isotonic": "#009E73",
    "beta": WRONG,
    "matrix": "#CC79A7",
    "structured-matrix": "#56B4E9",
    "ccac": CORRECT,
    "ccac-x": INK,
}
"""The colour of each method; those in grey are there for comparison, and have no name."""


def measure(file: ResultsFile, where: tuple[str, str], random_state: int) -> None:
    """Measure every method with every number of labels that the bundle has."""
    pool, test = parts(where, random_state)
    for n_labels, method in product(LABELS, (METHODS[name] for name in EVIDENCE)):
        wanted = n_labels <= len(pool) and method.applies_to(where[1]) and method.name not in left_out(where, pool)
        if wanted and file.lacks(where, method.name, random_state, n_labels):
            labelled = pool.take(slice(n_labels))
            fit = method.make(random_state).fit
            if method.source is not None:
                fit = source(where[0], method.source, random_state).transfer
            file.measure(where, method.name, random_state, n_labels, partial(fit, labelled.logits, labelled.y), test)


def left_out(where: tuple[str, str], pool: Predictions) -> tuple[str, ...]:
    """Return the methods that are not measured on a bundle."""
    if where not in CLEAN:
        return ()
    return (*NETWORKS, *UNPENALISED) if pool.n_classes >= MANY_CLASSES else NETWORKS


@cache
def source(suite_name: str, method: str, random_state: int) -> Calibrator:
    """Return the calibrator that is transferred from D1."""
    fit, _ = parts((suite_name, SOURCE_SHIFT), random_state)
    return METHODS[method].make(random_state).fit(fit.logits, fit.y)


def verdicts(results: Results, bundles: dict[tuple[str, str], str], metric: str) -> Iterator[list[str]]:
    """Compare CCAC-X for each number of labels and bundle with the best other method that has seen no other labels."""
    for n_labels in LABELS:
        found = [verdict(results.where(suite=suite, shift=shift, n_fit=n_labels), metric) for suite, shift in bundles]
        if set(found) != {"–"}:
            yield [f"{n_labels:,}", *found]


def verdict(results: Results, metric: str) -> str:
    """Return the best other method, and by how much CCAC-X is worse; bold where that is more than chance allows."""
    others = [name for name in results.distinct("method") if name != "ccac-x" and METHODS[name].source is None]
    if not others:
        return "–"
    best = min(others, key=lambda name: results.where(method=name).spread(metric).mean)
    more = paired(results.where(method="ccac-x"), results.where(method=best), metric)
    text = f"{METHODS[best].label} {1000 * more.mean:+.1f}±{1000 * more.error:.1f}"
    return f"**{text}**" if more.significant and more.mean > 0 else text


def draw(results: Results, bundles: dict[tuple[str, str], str], colours: dict[str, str]) -> Figure:
    """Draw Brier score and ECE over the number of labels, one row for each bundle."""
    with house_style():
        figure = new_figure(7.4, 2.1 * len(bundles))
        axes = figure.subplots(len(bundles), 2)
        for (brier, ece), ((suite, shift), title) in zip(axes, bundles.items(), strict=True):
            draw_panel(brier, results.where(suite=suite, shift=shift), "brier", colours)
            draw_panel(ece, results.where(suite=suite, shift=shift), "ece", colours)
            brier.set_title(title, loc="left")
            brier.set_ylabel("Brier score")
            ece.set_ylabel("ECE")
            ece.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        for ax in axes[-1]:
            ax.set_xlabel("labels")
        figure_legend(figure, axes[0, 0])
    return figure


def draw_panel(ax: Axes, results: Results, metric: str, colours: dict[str, str]) -> None:
    """Draw a line for each method, those in grey behind the others and CCAC-X before them."""
    apply_style(ax)
    horizontal_grid(ax)
    for name, colour in colours.items():
        here = results.where(method=name)
        labels = sorted(here.distinct("n_fit"))
        means = [here.where(n_fit=n).spread(metric).mean for n in labels]
        if colour == GREY:
            ax.plot(labels, means, color=colour, linewidth=0.8, zorder=1)
        else:
            look = {"linewidth": 2.4, "zorder": 3} if name == "ccac-x" else {"linewidth": 1.2, "zorder": 2}
            ax.plot(labels, means, marker="o", markersize=3, color=colour, label=METHODS[name].label, **look)
        if name == "ccac-x":
            ax.set_ylim(0, min(0.25, 2.5 * max(means)))  # what is far worse is of no interest
    ax.set_xscale("log")
    ax.set_xticks([100, 1_000, 10_000], labels=["100", "1,000", "10,000"])
    ax.xaxis.set_minor_locator(NullLocator())


def main(folder: str = "docs/figures") -> None:
    """Measure, judge, draw."""
    file = ResultsFile(Path(folder) / "labels.csv")
    for random_state, where in product(RANDOM_STATES, (*BUNDLES, *CLEAN)):
        measure(file, where, random_state)
    for metric, (ending, bundles) in product(("brier", "ece"), {"": BUNDLES, "-clean": CLEAN}.items()):
        path = Path(folder) / f"labels-verdict-{metric}{ending}.csv"
        write_table(path, ["labels", *bundles.values()], verdicts(file.results, bundles, metric))
    draw(file.results, GUIDE_BUNDLES, GUIDE).savefig(Path(folder) / "labels.png")
    draw(file.results, BUNDLES, EVIDENCE).savefig(Path(folder) / "label-curves.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
