"""The paper's figures: displays of probabilities, and one panel for each method with captions and one legend."""

from io import BytesIO

import numpy as np
import pytest

from auxcal import NO_CLASS, InvalidInputError, Predictions
from auxcal_paper.figures import (
    HeatmapDisplay,
    TSNEDisplay,
    confidence_histograms,
    heatmap_panels,
    reliability_diagrams,
    tsne_panels,
)

# Seven samples of two classes: four correct (three of class 0), three wrong (one of no class).
LOGITS = np.array([[2, 0], [3, 0], [0, 1], [4, 0], [0, 2], [1, 0], [0, 3]], dtype=np.float64)
TEST = Predictions(LOGITS, [0, 0, 1, 0, 0, NO_CLASS, 0])


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def extended(proba):
    return np.column_stack([proba / 2, np.full(len(proba), 0.5)])


PROBA = softmax(LOGITS)
EXTENDED = extended(PROBA)


class TestHeatmap:
    def test_both_blocks_can_be_empty(self):
        display = HeatmapDisplay.from_predictions(PROBA[:1], Predictions(LOGITS[:1], [0]), of_class=1)
        assert len(display.correct) == len(display.wrong) == 0
        assert len(display.plot().ax_.images) == 0

    def test_blocks(self):
        display = HeatmapDisplay.from_predictions(EXTENDED, TEST)
        assert display.of_class == 0
        np.testing.assert_array_equal(display.correct, EXTENDED[[0, 1, 3]])
        np.testing.assert_array_equal(display.wrong, EXTENDED[[5, 4, 6]])  # sorted by the prediction

    def test_the_samples_do_not_depend_on_the_distribution(self):
        before = HeatmapDisplay.from_predictions(PROBA, TEST, n_samples=2)
        after = HeatmapDisplay.from_predictions(EXTENDED, TEST, n_samples=2)
        np.testing.assert_array_equal(before.correct / 2, after.correct[:, :2])
        np.testing.assert_array_equal(before.wrong / 2, after.wrong[:, :2])

    def test_the_auxiliary_class_is_labelled(self):
        names = ["cat", "horse"]
        for proba, expected in ((PROBA, names), (EXTENDED, [*names, "auxiliary"])):
            ax = HeatmapDisplay.from_predictions(proba, TEST, class_names=names).plot().ax_
            assert [label.get_text() for label in ax.get_xticklabels()] == expected

    @pytest.mark.parametrize("n_classes", [11, 20, 100, 1000])
    def test_columns_of_many_classes(self, n_classes):
        rng = np.random.default_rng(0)
        test = Predictions(rng.normal(size=(30, n_classes)), rng.integers(n_classes, size=30))
        proba = np.full((30, n_classes + 1), 1 / (n_classes + 1))
        labels = HeatmapDisplay.from_predictions(proba, test).plot().ax_.get_xticklabels()
        assert len(labels) <= 21
        assert labels[-1].get_text().startswith("aux")


class TestTSNE:
    def draw(self, **options):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(300, 3), scale=2)
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        return TSNEDisplay.from_predictions(softmax(logits), Predictions(logits, y), n_per_class=20, **options)

    def test_equally_many_of_each_predicted_class(self):
        display = self.draw()
        np.testing.assert_array_equal(np.bincount(display.prediction), [20, 20, 20])
        assert display.embedding.shape == (60, 2)
        assert 0 < display.correct.mean() < 1

    def test_probabilities_that_barely_differ_are_one_point(self):
        proba = np.column_stack([np.ones(40), np.geomspace(1e-40, 1e-20, 40)])
        display = TSNEDisplay.from_predictions(proba, Predictions(proba, np.zeros(40, dtype=int)))
        assert np.ptp(display.embedding, axis=0).max() < 1e-6

    def test_the_same_for_the_same_random_state(self):
        one, same, other = self.draw(), self.draw(), self.draw(random_state=1)
        np.testing.assert_array_equal(one.embedding, same.embedding)
        assert not np.array_equal(one.embedding, other.embedding)

    def test_classes_lie_apart(self):
        display = self.draw()
        means = np.stack([display.embedding[display.prediction == k].mean(axis=0) for k in range(3)])
        nearest = np.linalg.norm(display.embedding[:, None] - means, axis=2).argmin(axis=1)
        assert (nearest == display.prediction).mean() > 0.8

    def test_wrong_ones_are_marked_and_classes_named(self):
        display = self.draw(classes=[0, 2], class_names=["cat", "dog", "frog"])
        ax = display.plot().ax_
        cats, wrong_cats, frogs, wrong_frogs, *_ = ax.collections
        assert len(cats.get_offsets()) + len(wrong_cats.get_offsets()) == 20
        assert not np.allclose(cats.get_facecolor(), frogs.get_facecolor())
        np.testing.assert_allclose(wrong_cats.get_edgecolor(), cats.get_facecolor())
        rings = np.concatenate([wrong_cats.get_offsets(), wrong_frogs.get_offsets()])
        np.testing.assert_allclose(rings, display.embedding[~display.correct])
        assert [text.get_text() for text in ax.texts] == ["cat", "frog"]

    def test_long_names_are_in_the_legend(self):
        display = self.draw(class_names=["alt.atheism", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"])
        ax = display.plot().ax_
        assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
        assert ax.get_legend_handles_labels()[1][::2] == ["0 alt.atheism", "2 comp.sys.ibm.pc.hardware", "wrong"]


@pytest.mark.parametrize("rows", [[0], [0, 5], [0, 1], [4, 5, 6]])
@pytest.mark.parametrize("display", [HeatmapDisplay, TSNEDisplay])
def test_few_rows_all_right_or_all_wrong_are_drawn(display, rows):
    test = Predictions(LOGITS[rows], TEST.y[rows])
    display.from_predictions(EXTENDED[rows], test).plot(title="few").figure_.draw_without_rendering()


def scored(n_methods=3, n=50):
    rng = np.random.default_rng(0)
    correct = rng.random(n) < 0.7
    return {f"method {i}": (rng.random(n) ** (i + 1), correct) for i in range(n_methods)}


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]


@pytest.mark.parametrize("make", [reliability_diagrams, confidence_histograms])
def test_panels_of_confidence_share_axes_and_have_captions_and_one_legend(make):
    figure = make(scored())
    figure.savefig(BytesIO(), dpi=50)
    assert titles(figure) == ["(a) method 0", "(b) method 1", "(c) method 2"]
    assert [bool(ax.get_ylabel()) for ax in figure.axes] == [True, False, False]
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    assert len(figure.legends) == 1
    assert all(ax.get_legend() is None for ax in figure.axes)


def probas():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(60, 3))
    before = softmax(logits)
    return {"Un-calibrated": before, "CCAC": extended(before)}, Predictions(logits, rng.integers(3, size=60))


def test_heatmaps_before_and_after_share_one_scale():
    figure = heatmap_panels(*probas(), of_class=2)
    figure.savefig(BytesIO(), dpi=50)
    assert titles(figure) == ["(a) Un-calibrated", "(b) CCAC"]
    before, after, scale = figure.axes
    assert len(before.images) == 2  # correct and wrong
    assert len(after.images) == 4  # and the auxiliary class of both
    assert scale.get_ylabel() == "probability"


def test_maps_show_the_same_samples():
    figure = tsne_panels(*probas(), class_names=["cat", "dog", "frog"])
    figure.savefig(BytesIO(), dpi=50)
    assert titles(figure) == ["(a) Un-calibrated", "(b) CCAC"]
    before, after = ([len(points.get_offsets()) for points in ax.collections] for ax in figure.axes)
    assert before == after
    assert sum(before[:-1]) == 60


@pytest.mark.parametrize("make", [heatmap_panels, tsne_panels])
def test_eighteen_long_names_leave_room_for_the_panels(make):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(50, 18))
    names = [f"comp.sys.ibm.pc.hardware.{index}" for index in range(18)]
    test = Predictions(logits, rng.integers(18, size=50))
    figure = make({"Un-calibrated": softmax(logits)}, test, class_names=names)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.axes[0].get_position().size
    assert width > 1.2
    assert height > 1.2


@pytest.mark.parametrize("methods", [0, 27])
def test_a_number_of_panels_that_makes_no_figure(methods):
    with pytest.raises(InvalidInputError, match="panels"):
        confidence_histograms(scored(methods))
