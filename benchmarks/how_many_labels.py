"""How good each method is for the number of labels that it gets: the figure of "Which method should I use".

    python benchmarks/how_many_labels.py [FOLDER]

A ResNet-20 on CIFAR-10 meets images of other classes (OOD), or turned, moved and zoomed ones (D1). Every method has
the same labels for everything it does, its search of hyper-parameters included; CCAC-T starts from a CCAC-S that was
fitted on D1. Writes labels.csv and labels.png into the folder, docs/figures by default; takes some minutes.
"""

import sys
import time
import warnings
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from auxcal import AuxcalWarning, Predictions, SimplifiedCCAC, evaluate
from auxcal.experiments import METHODS, Results, Row
from auxcal.experiments.bundles import bundle
from auxcal.experiments.suites import suite
from auxcal.plots._style import CORRECT, MUTED, WRONG, dress, family_look, figure_legend, new_figure, rule

SUITE = suite("cifar10-resnet20")
SHIFTS = {"OOD": "OOD: images of other classes", "D1": "D1: turned, moved, zoomed"}
COMPARED = {
    "ccac": CORRECT,
    "ccac-s": "#56B4E9",
    "ccac-t": WRONG,
    "isotonic": "#009E73",
    "temperature": "#E69F00",
    "matrix": "#CC79A7",
    "uncalibrated": MUTED,
}
LABELS = (100, 300, 1_000, 3_000, 10_000)
N_TEST = 8_000
RANDOM_STATES = (0, 1, 2)


def measure(data: dict[str, Predictions], random_state: int) -> list[Row]:
    """Return a row for every shift, number of labels and method."""
    parts = {name: part.split(30_000, N_TEST, random_state=random_state) for name, part in data.items()}
    there = SimplifiedCCAC(random_state=random_state).fit(parts["D1"][0].logits, parts["D1"][0].y)
    rows = []
    for shift, (pool, test) in parts.items():
        for n_labels in LABELS:
            labelled = pool.take(slice(n_labels))  # the parts are in random order
            for method in (METHODS[name] for name in COMPARED if METHODS[name].applies_to(shift)):
                start = time.process_time()
                fit = there.transfer if method.transferred else method.make(random_state).fit
                calibrator = fit(labelled.logits, labelled.y)
                seconds = time.process_time() - start
                scores = evaluate(calibrator.predict_confidence(test.logits), test.correct)
                accuracy = float(test.correct.mean())
                what = (SUITE.name, shift, method.name, random_state, n_labels, 0, N_TEST)
                rows.append(Row(*what, accuracy, seconds, calibrator.converged_, scores))
    return rows


def draw(results: Results) -> Figure:
    """Draw Brier score and ECE over the number of labels, one column for each shift."""
    with family_look():
        figure = new_figure(7.4, 5.0)
        axes = figure.subplots(2, 2, sharex=True, sharey="row")
        for column, (shift, title) in enumerate(SHIFTS.items()):
            for ax, metric in zip(axes[:, column], ("brier", "ece"), strict=True):
                draw_panel(ax, results.where(shift=shift), metric)
            axes[0, column].set_title(title, loc="left")
            axes[1, column].set_xlabel("labels")
        axes[0, 0].set_ylabel("Brier score")
        axes[1, 0].set_ylabel("ECE")
        axes[1, 0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        figure_legend(figure, axes[0, 0])
    return figure


def draw_panel(ax: Axes, results: Results, metric: str) -> None:
    """Draw a line for each method."""
    dress(ax)
    rule(ax)
    for name, colour in COMPARED.items():
        means = [results.where(method=name, n_fit=n).spread(metric).mean for n in LABELS]
        ax.plot(LABELS, means, marker="o", markersize=3, color=colour, label=METHODS[name].label)
    ax.set(xscale="log", ylim=(0, 0.25))  # beyond it, a method is worse than none
    ax.set_xticks(LABELS, labels=[f"{n:,}" for n in LABELS])
    ax.xaxis.set_minor_locator(NullLocator())


def main(folder: str = "docs/figures") -> None:
    """Measure, write, draw."""
    data = {shift: bundle(SUITE, shift, Path("data"), Path("cache")) for shift in SHIFTS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuxcalWarning)  # the rows say whether a fit converged
        results = Results(tuple(row for state in RANDOM_STATES for row in measure(data, state)))
    results.write(Path(folder) / "labels.csv")
    draw(results).savefig(Path(folder) / "labels.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
