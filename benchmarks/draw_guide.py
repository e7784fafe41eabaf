"""Draw the pictures of the guide, on logits that come with the package.

    python -m benchmarks.draw_guide [FOLDER]

Writes before-after.png, lambda.png and noise-floor.png into the folder, docs/figures by default; takes a minute.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from auxcal import CCAC, CCACX, Predictions, Uncalibrated
from auxcal.metrics import ece
from auxcal.plots.style import (
    CORRECT,
    MUTED,
    REFERENCE,
    WRONG,
    apply_style,
    figure_legend,
    horizontal_grid,
    house_style,
    new_figure,
)
from auxcal_paper.bundles import bundle
from auxcal_paper.figures import reliability_diagrams
from auxcal_paper.suites import suite

LAMBDA1 = {0.0: CORRECT, 0.5: WRONG, 1.0: "#009E73"}  # and the colours of their lines
LAMBDA2 = (0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
N_LABELS, N_TEST = 4_000, 8_000


def before_after(labelled: Predictions, test: Predictions) -> Figure:
    """Draw the reliability of the classifier's own confidence and of that of CCAC-X."""
    methods = {"the classifier says": Uncalibrated(), "CCAC-X says": CCACX(random_state=0)}
    scored = {
        name: (method.fit(labelled.logits, labelled.y).predict_confidence(test.logits), test.correct)
        for name, method in methods.items()
    }
    return reliability_diagrams(scored)


def lambdas(labelled: Predictions, test: Predictions) -> Figure:
    """Draw how far the mean confidence is above the accuracy, for each λ1 and λ2."""
    with house_style():
        figure = new_figure(5.2, 3.0)
        ax = figure.subplots()
        apply_style(ax)
        horizontal_grid(ax)
        ax.axhline(0, color=MUTED, **REFERENCE)
        for lambda1, colour in LAMBDA1.items():
            excess = [_excess(labelled, test, lambda1, lambda2) for lambda2 in LAMBDA2]
            ax.plot(LAMBDA2, excess, marker="o", markersize=3.5, color=colour, label=f"λ1 = {lambda1:g}")
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.set(xlabel="λ2, the weight of the misclassified", ylabel="mean confidence − accuracy")
        figure_legend(figure, ax)
    return figure


def _excess(labelled: Predictions, test: Predictions, lambda1: float, lambda2: float) -> float:
    calibrator = CCAC(lambda1=lambda1, lambda2=lambda2, mean="wrong", random_state=0)
    confidence = calibrator.fit(labelled.logits, labelled.y).predict_confidence(test.logits)
    return float(confidence.mean() - test.correct.mean())


def noise_floor() -> Figure:
    """Draw the ECE of a perfectly calibrated confidence over the number of rows."""
    rng = np.random.default_rng(0)
    spread = []
    for n in SIZES:
        draws = [ece(confidence, rng.random(n) < confidence) for confidence in rng.random((200, n))]
        spread.append(np.quantile(draws, [0.05, 0.5, 0.95]))
    low, middle, high = np.transpose(spread)
    with house_style():
        figure = new_figure(5.2, 2.8)
        ax = figure.subplots()
        apply_style(ax)
        horizontal_grid(ax)
        ax.fill_between(SIZES, low, high, color=CORRECT, alpha=0.2, linewidth=0, label="9 of 10 samples")
        ax.plot(SIZES, middle, color=CORRECT, label="median")
        ax.axhline(0, color=WRONG, label="the truth")
        ax.set(xscale="log", xlabel="rows of the test part", ylabel="measured ECE")
        ax.set_xticks(SIZES, labels=[f"{n:,}" for n in SIZES])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        figure_legend(figure, ax)
    return figure


def main(folder: str = "docs/figures") -> None:
    """Draw all."""
    labelled, test = bundle(suite("cifar10-resnet20"), "OOD", Path("data"), Path("cache")).split(
        N_LABELS, N_TEST, random_state=0
    )
    before_after(labelled, test).savefig(Path(folder) / "before-after.png")
    noise_floor().savefig(Path(folder) / "noise-floor.png")
    lambdas(labelled, test).savefig(Path(folder) / "lambda.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
