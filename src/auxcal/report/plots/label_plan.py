"""What more labels would bring: the forecast of `auxcal.labelling.plan` as curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.text import percent
from auxcal.report.plots.style import CORRECT, MUTED, REFERENCE, SMALL, WRONG, Display, canvas, header, horizontal_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from auxcal.labelling import Plan

_GOALS = {"ece": "ECE", "accuracy_within": "accuracy", "risk": "promise"}
_FAR_RIGHT, _ROW = 0.7, 0.09  # shares of the axes, by eye: where words are left of their line, and how high they are


@dataclass(frozen=True, eq=False)
class PlanDisplay(Display):
    """How well the accuracy is known, and how large the ECE of the default is, against the number of labels.

    Parameters
    ----------
    n : array of shape (m,)
        The numbers of labels.
    accuracy_within, ece, ece_low, ece_high : arrays of shape (m,)
        Half the width of the interval of the accuracy, and the ECE of the default with its range.
    needed : mapping of str to int or None
        The labels that each goal takes.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.labelling import plan
    >>> from auxcal.plots import PlanDisplay
    >>> display = PlanDisplay.from_plan(plan(np.linspace(0.5, 1, 1000), accuracy_within=0.03))
    >>> display.n.tolist()
    [100, 200, 500, 1000]
    >>> display.plot().ax_.get_xlabel()
    'labels'
    """

    n: Ints
    accuracy_within: Floats
    ece: Floats
    ece_low: Floats
    ece_high: Floats
    needed: Mapping[str, int | None]

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Take the numbers of a plan."""
        names = ("n", "accuracy_within", "ece", "ece_low", "ece_high")
        curves = {name: np.array([getattr(each, name) for each in plan.outlooks]) for name in names}
        return cls(**curves, needed=plan.needed)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw both curves, and a line where a goal is reached.

        Parameters
        ----------
        ax, title
            Where to draw, by default on a new figure; and what is shown, such as the name of the data.
        """
        with canvas(self, ax, 4.4, 3.1) as ax:
            ax.plot(self.n, self.accuracy_within, color=CORRECT, marker="o", markersize=3, label="accuracy known to ±")
            ax.plot(self.n, self.ece, color=WRONG, marker="o", markersize=3, label="ECE of the default, and its range")
            ax.fill_between(self.n, self.ece_low, self.ece_high, color=WRONG, alpha=0.15, linewidth=0)
            ax.set_xscale("log")
            ax.margins(x=0.08)
            self._mark_goals(ax)
            ax.set_xticks(self.n, labels=[f"{each:,}" for each in self.n])
            ax.set_xticks([], minor=True)
            horizontal_grid(ax)
            ax.yaxis.set_major_formatter(lambda value, _: percent(value, decimals=0 if value * 100 % 1 < 1e-9 else 1))
            ax.set_ylim(bottom=0)
            ax.set(xlabel="labels")
            header(ax, title, legend=True)
        return self

    def _mark_goals(self, ax: Axes) -> None:
        """Draw a line where a goal is reached, each with its own row for the words."""
        reached = sorted((labels, goal) for goal, labels in self.needed.items() if labels is not None)
        for labels, _ in reached:
            ax.axvline(labels, color=MUTED, **REFERENCE)
        for row, (labels, goal) in enumerate(reached):
            leftward = ax.transAxes.inverted().transform(ax.transData.transform((labels, 0)))[0] > _FAR_RIGHT
            ax.annotate(
                f"{_GOALS[goal]}: {labels:,}",
                (labels, 0.98 - _ROW * row),
                (-4 if leftward else 4, 0),
                xycoords=ax.get_xaxis_transform(),
                textcoords="offset points",
                va="top",
                ha="right" if leftward else "left",
                fontsize=SMALL,
                bbox={"facecolor": ax.get_facecolor(), "linewidth": 0, "pad": 1},
            )
