"""How the time of a fit grows with the rows, with the classes and with the settings of the grid."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from benchmarks.speed.data import drawn, packaged
from benchmarks.speed.measure import measured
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import auxcal
from auxcal.plots.style import apply_style, figure_legend, horizontal_grid, house_style, new_figure

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLASSES = (10, 30, 100, 300, 1000)
SETTINGS = (1, 2, 4, 8, 12, 24)
QUICK = {"rows": ROWS[:2], "classes": CLASSES[:2], "settings": SETTINGS[:2]}
FULL = {"rows": ROWS, "classes": CLASSES, "settings": SETTINGS}
ENOUGH = 20.0  # seconds after which a method is not asked for the next size

METHODS = {
    "temperature": auxcal.TemperatureScaling,
    "vector": auxcal.VectorScaling,
    "structured-matrix": auxcal.StructuredMatrixScaling,
    "histogram": lambda: auxcal.HistogramBinning(scheme="per-class"),
    "isotonic": lambda: auxcal.IsotonicCalibration(scheme="per-class"),
    "ccac, one setting": lambda: auxcal.CCAC(lambda1=0.0, lambda2=1.0, mean="wrong", random_state=0),
    "ccac-x": lambda: auxcal.CCACX(random_state=0),
}
LABELS = {"rows": "rows, at K = 10", "classes": "classes, at n = 10,000", "settings": "settings of λ, at 30,000 × 10"}
COLOURS = {
    "ccac": "#0072B2",
    "ccac-s": "#56B4E9",
    "ccac-x": "#D55E00",
    "temperature": "#E69F00",
    "vector": "#CC79A7",
    "structured-matrix": "#8C564B",
    "histogram": "#999999",
    "isotonic": "#009E73",
}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return the seconds of CPU time of every method at every size."""
    sizes = QUICK if quick else FULL
    rows = []
    for name, new in METHODS.items():
        rows += series(name, "rows", sizes["rows"], lambda n, new=new: time_of(new(), drawn(n, 10)))
        rows += series(name, "classes", sizes["classes"], lambda k, new=new: time_of(new(), drawn(10_000, k)))
    data = packaged("cifar10-resnet20", "D1").take(slice(3_000 if quick else 30_000))
    for name, kind in (("ccac", auxcal.CCAC), ("ccac-s", auxcal.SimplifiedCCAC)):

        def grid(count: int, kind: type = kind) -> float:
            return time_of(kind(lambda1=0.0, lambda2=tuple(np.linspace(0.4, 2, count)), random_state=0), data)

        rows += series(name, "settings", sizes["settings"], grid)
    return rows


def series(name: str, what: str, sizes: tuple[int, ...], seconds_at: Any) -> list[dict[str, Any]]:
    """Return the time at each size, until one takes too long."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        if not rows or rows[-1]["cpu"] < ENOUGH:
            rows.append({"method": name, "what": what, "size": size, "cpu": seconds_at(size)})
            print(f"{name:>18} {what:>9} {size:>8,}: {rows[-1]['cpu']:.3f} s", flush=True)
    return rows


def time_of(calibrator: auxcal.Calibrator, data: auxcal.Predictions) -> float:
    """Return the seconds of CPU time of a fit; the better of two where it is short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", auxcal.ConvergenceWarning)
        first, _ = measured(lambda: calibrator.fit(data.logits, data.y))
        return (
            first.cpu if first.cpu > 2 else min(first.cpu, measured(lambda: calibrator.fit(data.logits, data.y))[0].cpu)
        )


def exponent(rows: list[dict[str, Any]]) -> float:
    """Return the power of the size that the time of a series grows with, over its upper half."""
    upper = rows[len(rows) // 2 - 1 :]
    return float(np.polyfit(np.log([row["size"] for row in upper]), np.log([row["cpu"] for row in upper]), 1)[0])


def cost_of_a_setting(rows: list[dict[str, Any]]) -> float:
    """Return what one more setting costs, as a share of what one network costs by itself."""
    slope = np.polyfit([row["size"] for row in rows], [row["cpu"] for row in rows], 1)[0]
    return float(slope / rows[0]["cpu"])


def draw(rows: list[dict[str, Any]]) -> Figure:
    """Draw the three ways to grow beside each other."""
    with house_style():
        figure = new_figure(9.6, 3.4)
        axes = figure.subplots(1, 3)
        for ax, (what, label) in zip(axes, LABELS.items(), strict=True):
            here = [row for row in rows if row["what"] == what]
            for name in dict.fromkeys(row["method"] for row in here):
                line = [row for row in here if row["method"] == name]
                short = name.removesuffix(", one setting")
                sizes, seconds = [row["size"] for row in line], [row["cpu"] for row in line]
                ax.plot(sizes, seconds, marker="o", markersize=3, color=COLOURS[short], label=short)
            ticks = sorted({row["size"] for row in here})
            if what == "settings":
                ax.set_ylim(bottom=0)
            else:
                ax.set(xscale="log", yscale="log")
                ticks = ticks[::2]
            ax.set_xticks(ticks, [f"{size:,}" for size in ticks])
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xlabel(label)
            apply_style(ax)
            horizontal_grid(ax)
        axes[0].set_ylabel("seconds of CPU time")
        axes[0].plot([], [], marker="o", markersize=3, color=COLOURS["ccac-s"], label="ccac-s")
        figure_legend(figure, axes[0])
    return figure
