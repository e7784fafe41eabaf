"""The numbers of every display against hand values, and its drawing from any data."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from auxcal import InvalidInputError
from auxcal.metrics import aurc, ece, ece_noise_floor
from auxcal.plots import ConfidenceHistogramDisplay, ReliabilityDisplay, RiskCoverageDisplay

DISPLAYS = [ReliabilityDisplay, ConfidenceHistogramDisplay, RiskCoverageDisplay]


def scored(n=200, seed=0):
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(size=n)
    return confidence, rng.uniform(size=n) < confidence


class TestReliability:
    def test_each_bin(self):
        display = ReliabilityDisplay.from_predictions(
            [0.1, 0.2, 0.7, 0.6, 1.0], [False, True, True, False, True], n_bins=4
        )
        np.testing.assert_array_equal(display.count, [2, 0, 2, 1])
        np.testing.assert_allclose(display.confidence, [0.15, np.nan, 0.65, 1.0])
        np.testing.assert_allclose(display.accuracy, [0.5, np.nan, 0.5, 1.0])

    def test_ece_and_its_floor_are_those_of_the_metrics(self):
        confidence, correct = scored()
        display = ReliabilityDisplay.from_predictions(confidence, correct)
        assert display.ece == ece(confidence, correct)
        shown = ReliabilityDisplay.from_predictions([0.9, 0.9], [True, False]).plot()
        assert shown.ax_.texts[0].get_text() == "ECE 40.0 %, noise floor 16.6–40.0 %"
        assert display.floor == ece_noise_floor(confidence)

    def test_intervals_are_wilsons(self):
        display = ReliabilityDisplay.from_predictions(np.full(10, 0.95), [True] * 8 + [False] * 2)
        assert (display.low[-1], display.high[-1]) == pytest.approx((0.4902, 0.9433), abs=1e-4)
        assert np.isnan(display.low[:-1]).all()

    def test_bins_without_rows_are_absent(self):
        display = ReliabilityDisplay.from_predictions([0.1, 0.9], [False, True]).plot(intervals=True)
        accuracy, gap = display.ax_.containers
        (count,) = display.ax_.child_axes[0].containers
        assert len(accuracy) == len(gap) == len(count) == 2

    def test_bad_level(self):
        with pytest.raises(InvalidInputError, match="level"):
            ReliabilityDisplay.from_predictions([0.5], [True], level=95)


class TestConfidenceHistogram:
    def test_counts(self):
        display = ConfidenceHistogramDisplay.from_predictions([0.0, 0.3, 0.3, 0.8, 1.0], [0, 1, 0, 1, 1], n_bins=4)
        np.testing.assert_array_equal(display.correct, [0, 1, 0, 2])
        np.testing.assert_array_equal(display.wrong, [1, 1, 0, 0])
        assert [display.plot(log=log).ax_.get_yscale() for log in (False, True)] == ["linear", "log"]


class TestRiskCoverage:
    def test_curve(self):
        display = RiskCoverageDisplay.from_predictions([0.2, 0.9, 0.6, 0.7], [False, True, True, False])
        np.testing.assert_allclose(display.coverage, [0.25, 0.5, 0.75, 1])
        np.testing.assert_allclose(display.risk, [0, 1 / 2, 1 / 3, 1 / 2])
        np.testing.assert_allclose(display.threshold, [0.9, 0.7, 0.6, 0.2])
        np.testing.assert_allclose(display.best, [0, 0, 1 / 3, 1 / 2])

    def test_ties_share_their_errors_whatever_the_order(self):
        for correct in ([True, False, True, True], [True, True, False, True]):
            display = RiskCoverageDisplay.from_predictions([0.9, 0.5, 0.5, 0.1], correct)
            np.testing.assert_allclose(display.risk, [0, 0.5 / 2, 1 / 3, 1 / 4])

    def test_a_long_curve_is_thinned_and_keeps_its_area(self):
        confidence, correct = scored(20_000)
        display = RiskCoverageDisplay.from_predictions(confidence, correct, n_points=500)
        assert len(display.coverage) == 500
        assert display.coverage[-1] == 1
        assert display.risk[-1] == pytest.approx(1 - correct.mean())
        assert display.aurc == aurc(confidence, correct)
        assert np.trapezoid(display.risk, display.coverage) == pytest.approx(display.aurc, abs=0.002)

    def test_several_share_axes(self):
        first = RiskCoverageDisplay.from_predictions(*scored()).plot(label="MP")
        RiskCoverageDisplay.from_predictions(*scored(seed=1)).plot(first.ax_, label="CCAC", best=False)
        assert [line.get_label() for line in first.ax_.lines] == ["MP", "perfect ranking", "CCAC"]


DEGENERATE = {
    "one row": ([0.0], [True]),
    "one wrong row": ([1.0], [False]),
    "two rows": ([1.0, 0.5], [False, True]),
    "all correct": ([0.9, 0.8, 0.7, 0.6], [True] * 4),
    "all wrong": ([0.9, 0.8, 0.7, 0.6], [False] * 4),
    "equal rows": ([0.5] * 9, [True] * 9),
}


@pytest.mark.parametrize("cls", DISPLAYS)
@pytest.mark.parametrize("case", DEGENERATE)
def test_every_display_draws_from_degenerate_data_without_a_warning(case, cls):
    cls.from_predictions(*DEGENERATE[case]).plot(title=case).figure_.draw_without_rendering()


@pytest.fixture(params=DISPLAYS, ids=lambda cls: cls.__name__)
def display(request):
    return request.param.from_predictions(*scored(7))


def test_the_given_axes_are_used(display):
    figure = Figure()
    _, ax = figure.subplots(1, 2)
    assert display.plot(ax, title="here") is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.get_title(loc="left") == "here"


def test_a_notebook_shows_the_picture_even_in_a_subfigure(display):
    subfigure = Figure(dpi=50).subfigures(1, 2)[0]
    assert display.plot(subfigure.subplots()).figure_ is subfigure
    assert display._repr_png_().startswith(b"\x89PNG")


def test_every_picture_is_a_new_figure(display):
    assert display.plot().figure_ is not display.plot().figure_


def test_rc_params_are_neither_changed_nor_heeded(display):
    settings = {"font.size": 30.0, "axes.facecolor": "black", "xtick.labelsize": 30.0, "axes.spines.top": True}
    with mpl.rc_context(settings):
        before = mpl.rcParams.copy()
        ax = display.plot(title="caption").ax_
        ax.figure.draw_without_rendering()
        assert mpl.rcParams.copy() == before
    assert ax.title.get_fontsize() < 30
    assert all(label.get_fontsize() < 30 for label in [*ax.get_xticklabels(), ax.xaxis.label])
    assert ax.get_facecolor() == (1, 1, 1, 1)


def test_what_was_computed_is_frozen(display):
    with pytest.raises(AttributeError):
        display.correct = display.count = None
