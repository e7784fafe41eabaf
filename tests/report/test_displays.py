"""The numbers of every display against hand values, and its drawing from any data."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from auxcal import NO_CLASS, InvalidInputError
from auxcal.labelling import plan
from auxcal.metrics import aurc, ece, ece_noise_floor
from auxcal.plots import (
    ConfidenceHistogramDisplay,
    HeatmapDisplay,
    PlanDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    TSNEDisplay,
)

OF_CONFIDENCE = [ReliabilityDisplay, ConfidenceHistogramDisplay, RiskCoverageDisplay]
OF_PROBA = [HeatmapDisplay, TSNEDisplay]

# Seven samples of two classes: four correct (three of class 0), three wrong (one of no class).
LOGITS = np.array([[2, 0], [3, 0], [0, 1], [4, 0], [0, 2], [1, 0], [0, 3]], dtype=np.float64)
Y = np.array([0, 0, 1, 0, 0, NO_CLASS, 0])
PROBA = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
EXTENDED = np.column_stack([PROBA / 2, np.full(7, 0.5)])


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
        assert display.floor == ece_noise_floor(confidence)

    def test_ece_and_its_floor_are_written(self):
        display = ReliabilityDisplay.from_predictions([0.9, 0.9], [True, False]).plot()
        assert display.ax_.texts[0].get_text() == "ECE 40.0 %, noise floor 16.6–40.0 %"

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

    @pytest.mark.parametrize("log", [False, True])
    def test_scale(self, log):
        assert (
            ConfidenceHistogramDisplay.from_predictions(*scored()).plot(log=log).ax_.get_yscale()
            == ["linear", "log"][log]
        )


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


class TestHeatmap:
    def test_both_blocks_can_be_empty(self):
        display = HeatmapDisplay.from_predictions(PROBA[:1], LOGITS[:1], LOGITS[:1].argmax(axis=1), of_class=1)
        assert len(display.correct) == len(display.wrong) == 0
        assert len(display.plot().ax_.images) == 0

    def test_blocks(self):
        display = HeatmapDisplay.from_predictions(EXTENDED, LOGITS, Y)
        assert display.of_class == 0
        np.testing.assert_array_equal(display.correct, EXTENDED[[0, 1, 3]])
        np.testing.assert_array_equal(display.wrong, EXTENDED[[5, 4, 6]])  # sorted by the prediction

    def test_the_samples_do_not_depend_on_the_distribution(self):
        before = HeatmapDisplay.from_predictions(PROBA, LOGITS, Y, n_samples=2, random_state=3)
        after = HeatmapDisplay.from_predictions(EXTENDED, LOGITS, Y, n_samples=2, random_state=3)
        np.testing.assert_array_equal(before.correct / 2, after.correct[:, :2])
        np.testing.assert_array_equal(before.wrong / 2, after.wrong[:, :2])

    def test_the_auxiliary_class_is_labelled(self):
        names = ["cat", "horse"]
        for proba, expected in ((PROBA, names), (EXTENDED, [*names, "auxiliary"])):
            ax = HeatmapDisplay.from_predictions(proba, LOGITS, Y, class_names=names).plot().ax_
            assert [label.get_text() for label in ax.get_xticklabels()] == expected

    @pytest.mark.parametrize("n_classes", [11, 20, 100, 1000])
    def test_columns_of_many_classes(self, n_classes):
        rng = np.random.default_rng(0)
        logits, y = rng.normal(size=(30, n_classes)), rng.integers(n_classes, size=30)
        proba = np.full((30, n_classes + 1), 1 / (n_classes + 1))
        labels = HeatmapDisplay.from_predictions(proba, logits, y).plot().ax_.get_xticklabels()
        assert len(labels) <= 21
        assert labels[-1].get_text().startswith("aux")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"proba": PROBA[:, :1]}, "shape"),
            ({"proba": LOGITS}, "probabilities"),
            ({"of_class": 2}, "of_class"),
            ({"n_samples": 0}, "n_samples"),
            ({"class_names": ["one"]}, "class_names"),
        ],
    )
    def test_bad_input(self, change, message):
        with pytest.raises(InvalidInputError, match=message):
            HeatmapDisplay.from_predictions(**{"proba": PROBA, "logits": LOGITS, "y": Y} | change)


class TestTSNE:
    def draw(self, **options):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(300, 3), scale=2)
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return TSNEDisplay.from_predictions(proba, logits, y, **{"n_per_class": 20} | options), logits, y

    def test_equally_many_of_each_predicted_class(self):
        display, _, _ = self.draw()
        np.testing.assert_array_equal(np.bincount(display.prediction), [20, 20, 20])
        assert display.embedding.shape == (60, 2)
        assert 0 < display.correct.mean() < 1

    def test_probabilities_that_hardly_differ_are_one_point(self):
        proba = np.column_stack([np.ones(40), np.geomspace(1e-40, 1e-20, 40)])
        display = TSNEDisplay.from_predictions(proba, proba, np.zeros(40, dtype=int))
        assert np.ptp(display.embedding, axis=0).max() < 1e-6

    def test_the_same_for_the_same_random_state(self):
        (one, _, _), (same, _, _), (other, _, _) = self.draw(), self.draw(), self.draw(random_state=1)
        np.testing.assert_array_equal(one.embedding, same.embedding)
        assert not np.array_equal(one.embedding, other.embedding)

    def test_classes_lie_apart(self):
        display, _, _ = self.draw()
        means = np.stack([display.embedding[display.prediction == k].mean(axis=0) for k in range(3)])
        nearest = np.linalg.norm(display.embedding[:, None] - means, axis=2).argmin(axis=1)
        assert (nearest == display.prediction).mean() > 0.8

    def test_wrong_ones_are_marked_and_classes_named(self):
        display, _, _ = self.draw(classes=[0, 2], class_names=["cat", "dog", "frog"])
        ax = display.plot().ax_
        cats, frogs, crosses = ax.collections
        assert len(cats.get_offsets()) == len(frogs.get_offsets()) == 20
        assert not np.allclose(cats.get_facecolor(), frogs.get_facecolor())
        np.testing.assert_allclose(crosses.get_offsets(), display.embedding[~display.correct])
        assert [text.get_text() for text in ax.texts] == ["cat", "frog"]

    def test_long_names_are_in_the_legend(self):
        display, _, _ = self.draw(class_names=["alt.atheism", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"])
        ax = display.plot().ax_
        assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
        assert [text.get_text() for text in ax.get_legend().get_texts()][::3] == ["0 alt.atheism", "wrong"]

    def test_classes_that_nothing_is_predicted_as(self):
        with pytest.raises(InvalidInputError, match="predicted class"):
            TSNEDisplay.from_predictions(PROBA[:2], LOGITS[:2], Y[:2], classes=[1])


def every_display(confidence, correct, proba, logits, y):
    yield from (cls.from_predictions(confidence, correct) for cls in OF_CONFIDENCE)
    yield from (cls.from_predictions(proba, logits, y) for cls in OF_PROBA)


DEGENERATE = {
    "one row": ([0.0], [True], PROBA[:1], LOGITS[:1], Y[:1]),
    "one wrong row": ([1.0], [False], PROBA[:1], LOGITS[:1], [1]),
    "two rows": ([1.0, 0.5], [False, True], EXTENDED[:2], LOGITS[:2], [1, 0]),
    "all correct": (PROBA.max(axis=1), [True] * 7, PROBA, LOGITS, LOGITS.argmax(axis=1)),
    "all wrong": (PROBA.max(axis=1), [False] * 7, EXTENDED, LOGITS, [NO_CLASS] * 7),
    "two classes": (PROBA.max(axis=1), LOGITS.argmax(axis=1) == Y, PROBA, LOGITS, Y),
    "equal rows": ([0.5] * 9, [True] * 9, np.full((9, 2), 0.5), np.ones((9, 2)), [0] * 9),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_every_display_draws_from_degenerate_data_without_a_warning(case):
    for display in every_display(*DEGENERATE[case]):
        display.plot(title=case).figure_.draw_without_rendering()


@pytest.fixture(params=OF_CONFIDENCE + OF_PROBA, ids=lambda cls: cls.__name__)
def display(request):
    data = scored(7) if request.param in OF_CONFIDENCE else (EXTENDED[:3], LOGITS[:3], Y[:3])
    return request.param.from_predictions(*data)


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


def test_a_plan_is_drawn_with_a_line_for_each_goal_that_is_reached():
    found = plan(np.linspace(0.5, 1, 1000), accuracy_within=0.02, risk=0.01)
    assert found.needed["risk"] is None
    ax = PlanDisplay.from_plan(found).plot(title="rest").ax_
    within, ece = ax.lines[:2]
    np.testing.assert_array_equal(within.get_xdata(), [100, 200, 500, 1000])
    np.testing.assert_array_equal(ece.get_ydata(), [each.ece for each in found.outlooks])
    assert [text.get_text() for text in ax.texts if ":" in text.get_text()] == [
        f"accuracy: {found.needed['accuracy_within']:,}"
    ]
