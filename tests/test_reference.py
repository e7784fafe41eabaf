"""What a calibrator keeps of the rows that it was fitted on."""

import numpy as np
import pytest

import auxcal
from auxcal import CCACX, NO_CLASS, FileFormatError, PlattScaling
from auxcal.reference import MOST_BYTES, READINGS, read_logits, stratum_of

RNG = np.random.default_rng(0)


def rows(n, k):
    logits = RNG.normal(size=(n, k), scale=2).astype(np.float32)
    y = (logits / 2 + RNG.gumbel(size=logits.shape)).argmax(axis=1)
    y[::5] = NO_CLASS
    return logits, y


LOGITS, Y = rows(400, 4)


def test_it_reads_the_logits_as_their_definitions_say():
    z = LOGITS.astype(np.float64)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    ranked, mean = np.sort(z, axis=1)[:, ::-1], z.mean(axis=1)
    expected = {
        "log-odds": np.log(p.max(axis=1) / (1 - p.max(axis=1))),
        "margin": ranked[:, 0] - ranked[:, 1],
        "entropy": -(p * np.log(p)).sum(axis=1),
        "energy": np.log(np.exp(z).sum(axis=1)) - mean,
        "mean logit": mean,
        "spread": z.std(axis=1),
        "third logit": ranked[:, 2] - mean,
        "least logit": ranked[:, -1] - mean,
    }
    got = read_logits(LOGITS)
    assert tuple(expected) == READINGS
    for column, values in zip(got.T, expected.values(), strict=True):
        np.testing.assert_allclose(column, values, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", [PlattScaling, CCACX])
def test_all_rows_of_a_small_fit_are_kept_and_counted(kind):
    fitted = kind().fit(LOGITS, Y)
    kept = fitted.reference_
    assert np.array_equal(kept.y, Y)
    assert np.array_equal(kept.correct, LOGITS.argmax(axis=1) == Y)
    assert kept.counts.tolist() == [*np.bincount(Y[Y >= 0], minlength=4), (Y == NO_CLASS).sum()]
    assert kept.hits[-1] == 0
    assert kept.hits.sum() == kept.correct.sum()
    apart = np.abs(kept.strata - fitted.strata(LOGITS, None)).mean()
    assert apart < 1e-3 if kind is PlattScaling else 0 < apart < 0.05  # CCAC-X kept what it said of held-out rows
    np.testing.assert_allclose(kept.strata.sum(axis=1), 1, atol=1e-2)


def test_strata_are_classes_or_right_and_wrong():
    by_class = stratum_of(CCACX().fit(LOGITS, Y).reference_)
    assert np.array_equal(by_class, np.where(Y == NO_CLASS, 4, Y))
    by_correct = stratum_of(PlattScaling().fit(LOGITS, Y).reference_)
    assert np.array_equal(by_correct, LOGITS.argmax(axis=1) != Y)


def test_with_very_many_classes_strata_are_right_wrong_and_none():
    logits, y = rows(300, 200)
    kept = CCACX().fit(logits, y).reference_
    assert kept.strata.shape == (300, 3)
    assert np.array_equal(stratum_of(kept) == 2, y == NO_CLASS)
    assert np.array_equal(stratum_of(kept) == 0, kept.correct)


def test_the_select_part_is_kept_too():
    fitted = PlattScaling().fit(LOGITS[:300], Y[:300], select=(LOGITS[300:], Y[300:]))
    assert np.array_equal(fitted.reference_.y, Y)


def test_of_many_rows_it_keeps_some_always_the_same_below_a_megabyte(tmp_path):
    logits, y = rows(20_000, 100)
    fitted = [PlattScaling().fit(logits, y) for _ in range(2)]
    first, second = (each.reference_ for each in fitted)
    assert len(first.y) < 20_000 == first.counts.sum()
    assert np.array_equal(first.readings, second.readings)
    fitted[0].save(tmp_path / "file.safetensors")
    assert (tmp_path / "file.safetensors").stat().st_size < MOST_BYTES


def test_a_file_whose_reference_does_not_fit_is_refused(tmp_path):
    fitted = PlattScaling().fit(LOGITS, Y)
    fitted.reference_ = fitted.reference_._replace(y=fitted.reference_.y[1:])
    fitted.save(tmp_path / "file.safetensors")
    with pytest.raises(FileFormatError, match="must have the shape"):
        auxcal.load(tmp_path / "file.safetensors")


def test_weights_count_rows_of_each_class():
    weight = RNG.integers(0, 4, size=len(Y))
    repeated = np.repeat(np.arange(len(Y)), weight)
    weighed = PlattScaling().fit(LOGITS, Y, sample_weight=weight).reference_
    plain = PlattScaling().fit(LOGITS[repeated], Y[repeated]).reference_
    assert np.array_equal(weighed.counts, plain.counts)
    assert np.array_equal(weighed.hits, plain.hits)


def test_heavy_rows_are_kept_more_often_and_hardly_any_twice():
    logits, y = rows(4000, 3)
    weight = np.where(np.arange(4000) % 2, 1.0, 4.0)
    weight[-100:] = 0
    kept = PlattScaling().fit(logits, y, sample_weight=weight).reference_
    first = {tuple(row): place for place, row in enumerate(read_logits(logits))}
    places = [first[tuple(row)] for row in kept.readings]
    assert len(set(places)) > 0.97 * len(places) > 2300  # 0.625 · 3,900 without any row twice
    assert np.mean(np.array(places) % 2 == 0) == pytest.approx(0.8, abs=0.01)
    assert max(places) < 3900


@pytest.mark.parametrize(("weight", "size"), [(3.0, 400), (0.5, 200)])
def test_the_same_weight_everywhere_keeps_every_row_once_or_as_many_as_they_are_worth(weight, size):
    kept = PlattScaling().fit(LOGITS, Y, sample_weight=np.full(len(Y), weight)).reference_
    assert len(kept.y) == size


def test_one_row_that_outweighs_all_others_is_one_row():
    weight = np.ones(len(Y))
    weight[7] = 1e6
    assert len(PlattScaling().fit(LOGITS, Y, sample_weight=weight).reference_.y) == 1
