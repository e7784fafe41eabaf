"""The paper's labels, loss, confidence and metrics, against values worked out from its equations."""

import math

import numpy as np
import pytest

from auxcal import NO_CLASS, Predictions, evaluate
from auxcal.calibrators.auxiliary import MEANS
from auxcal.calibrators.training import auxiliary_class_loss
from auxcal_paper.suites.cifar import Cifar
from auxcal_paper.suites.ng18 import NG2_AS_NG18
from auxcal_paper.suites.r8 import R52_AS_R8

# μ of three samples over K = 2 classes and the auxiliary one: correct of class 0, misclassified, correct of class 1.
MU = [[0.7, 0.2, 0.1], [0.3, 0.1, 0.6], [0.25, 0.5, 0.25]]
W = [0, 2, 1]


def loss(lambda1, lambda2):
    return auxiliary_class_loss(np.log(MU).T[None], np.array(W), np.array([[lambda1]]), np.array([[lambda2]])).item()


def test_the_label_is_the_class_where_the_prediction_is_right_and_else_the_auxiliary_one():
    logits = [[2.0, 1.0], [2.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    assert Predictions(logits, [0, 1, 1, NO_CLASS]).w.tolist() == [0, 2, 1, 2]


def test_equation_1_is_the_cross_entropy():
    assert loss(0.0, 1.0) == pytest.approx((0.356675 + 0.510826 + 0.693147) / 3, abs=1e-6)  # -ln 0.7, 0.6, 0.5


def test_equation_2_weighs_what_is_right_and_what_is_wrong():
    # -ln 0.9 = 0.105361 and -ln 0.75 = 0.287682 are the terms of λ1, of the two correct samples alone
    expected = (0.356675 + 0.5 * 0.105361) + 0.8 * 0.510826 + (0.693147 + 0.5 * 0.287682)
    assert loss(0.5, 0.8) == pytest.approx(expected / 3, abs=1e-6)


def test_both_means_of_equation_3():
    at_prediction, auxiliary = np.array([0.7, 0.3]), np.array([0.1, 0.6])
    # 1 - √(0.3 · 0.1), 1 - √(0.7 · 0.6); √(0.7 · 0.9), √(0.3 · 0.4)
    np.testing.assert_allclose(MEANS["wrong"](at_prediction, auxiliary), [0.826795, 0.351926], atol=1e-6)
    np.testing.assert_allclose(MEANS["right"](at_prediction, auxiliary), [0.793725, 0.346410], atol=1e-6)


def test_the_metrics_of_five_predictions():
    confidence, correct = [0.92, 0.82, 0.72, 0.62, 0.52], [True, True, False, True, False]
    scores = evaluate(confidence, correct)
    # Wrong is positive, the least confidence first: wrong, right, wrong, right, right.
    assert scores["aupr"] == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert scores["p90"] == pytest.approx(2 / 3)  # 90 % of two is both
    assert scores["auroc"] == pytest.approx((3 + 2) / 6)
    # Each is alone in its bin of width 0.05.
    assert scores["ece"] == pytest.approx((0.08 + 0.18 + 0.72 + 0.38 + 0.52) / 5)
    assert scores["brier"] == pytest.approx((0.08**2 + 0.18**2 + 0.72**2 + 0.38**2 + 0.52**2) / 5)


def test_p90_is_the_precision_where_nine_in_ten_of_the_wrong_are_found():
    wrong = [True] * 8 + [False] * 2 + [True] + [False] * 3 + [True]  # by rising confidence; ten wrong ones
    scores = evaluate(np.linspace(0.1, 0.9, len(wrong)), ~np.array(wrong))
    assert scores["p90"] == pytest.approx(9 / 11)
    assert scores["aupr"] == pytest.approx((8 * 1 + 9 / 11 + 10 / 15) / 10)
    assert math.isclose(scores["auroc"], (8 * 5 + 3 + 0) / 50)


def test_the_labels_that_the_paper_maps(cifar10_dir):
    automobile, truck, bus, pickup_truck = 1, 9, 13, 58
    assert Cifar(100).foreign(cifar10_dir)[1] == {automobile: bus, truck: pickup_truck}
    assert R52_AS_R8 == {"income": "earn", "jobs": "earn", "money-supply": "money-fx"}
    assert NG2_AS_NG18 == {
        "comp.sys.mac.hardware": "comp.sys.ibm.pc.hardware",
        "rec.sport.hockey": "rec.sport.baseball",
    }
