"""The paper's figures: one panel for each method, with captions, shared axes and one legend."""

from io import BytesIO

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.plots import (
    confidence_histograms,
    heatmap_panels,
    reliability_diagrams,
    risk_coverage_curves,
    tsne_panels,
)


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


def test_panels_wrap_and_the_lowest_of_each_column_has_its_labels():
    figure = reliability_diagrams(scored(5), columns=3, intervals=True)
    assert [bool(ax.get_xlabel()) for ax in figure.axes] == [False, False, True, True, True]
    assert [bool(ax.get_ylabel()) for ax in figure.axes] == [True, False, False, True, False]


def test_a_log_scale_for_all():
    assert {ax.get_yscale() for ax in confidence_histograms(scored(), log=True).axes} == {"log"}


def test_curves_of_many_methods_differ_in_colour_or_dashes():
    (ax,) = risk_coverage_curves(scored(13), title="all").axes
    assert len({(line.get_color(), str(line._dash_pattern)) for line in ax.lines}) == 14
    assert ax.get_title(loc="left") == "all"


def probas():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(60, 3))
    before = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    after = np.column_stack([before / 2, np.full(60, 0.5)])
    return {"Un-calibrated": before, "CCAC": after}, logits, rng.integers(3, size=60)


def test_heatmaps_before_and_after_share_one_scale():
    figure = heatmap_panels(*probas(), of_class=2, n_samples=5)
    figure.savefig(BytesIO(), dpi=50)
    assert titles(figure) == ["(a) Un-calibrated", "(b) CCAC"]
    before, after, scale = figure.axes
    assert len(before.images) == 2  # correct and wrong
    assert len(after.images) == 4  # and the auxiliary class of both
    assert scale.get_ylabel() == "probability"


def test_maps_show_the_same_samples():
    figure = tsne_panels(*probas(), n_per_class=8, class_names=["cat", "dog", "frog"])
    figure.savefig(BytesIO(), dpi=50)
    assert titles(figure) == ["(a) Un-calibrated", "(b) CCAC"]
    before, after = ([len(points.get_offsets()) for points in ax.collections] for ax in figure.axes)
    assert before == after
    assert before[:-1] == [8, 8, 8]


@pytest.mark.parametrize("make", [heatmap_panels, tsne_panels])
def test_eighteen_long_names_leave_room_for_the_panels(make):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(50, 18))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    names = [f"comp.sys.ibm.pc.hardware.{index}" for index in range(18)]
    figure = make({"Un-calibrated": proba}, logits, rng.integers(18, size=50), class_names=names)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.axes[0].get_position().size
    assert width > 1.2
    assert height > 1.2


@pytest.mark.parametrize(("methods", "columns"), [(0, 5), (27, 5), (1, 0)])
def test_a_number_of_panels_that_makes_no_figure(methods, columns):
    with pytest.raises(InvalidInputError, match="panels"):
        confidence_histograms(scored(methods), columns=columns)
