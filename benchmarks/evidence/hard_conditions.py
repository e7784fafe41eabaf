"""How good CCAC-X is under conditions that are hard for it, beside methods that each of them suits.

    python -m benchmarks.evidence.hard_conditions

A condition draws a fit part and a test part: of packaged bundles with copies or noise added, or simulated. Every method
is fitted and tested on the same rows. Writes into docs/figures: hard-conditions.csv, the Brier score of each method in
each random state, and hard-conditions-verdict.csv, the table of the page. It goes on where it was stopped: to
measure a condition again, delete its rows. Takes about five minutes of CPU time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.results import Kept, write_table
from benchmarks.speed.data import packaged
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from auxcal import AuxcalWarning, Predictions
from auxcal.calibrators import CALIBRATORS, seeded
from auxcal.metrics import brier
from auxcal_paper.results import spread

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
RANDOM_STATES = (0, 1, 2, 3, 4)
HEAD = ("condition", "method", "random_state", "brier")
OURS = "ccac-x"

Generator = np.random.Generator
Floats = NDArray[np.floating]


class Drawn(NamedTuple):
    """The rows of one random state."""

    fit: Predictions
    test: Predictions


# Copies. A test row is no copy of a row of the fit.


CIFAR10 = "cifar10-resnet20"


@cache
def whole(shift: str, suite: str) -> Predictions:
    """Return a bundle that comes with the package."""
    return packaged(suite, shift)


def parts(shift: str, n: int, rng: Generator, *, suite: str = CIFAR10) -> Drawn:
    """Return n rows of a bundle, and the rest of them."""
    data = whole(shift, suite)
    order = rng.permutation(len(data))
    return Drawn(data.take(order[:n]), data.take(order[n:]))


def copied(
    rng: Generator,
    *,
    shift: str,
    times: int,
    noise: float = 0.0,
    uneven: bool = False,
    named: bool,
    suite: str = CIFAR10,
) -> Drawn:
    """Return 200 rows of a bundle, each several times.

    Noise, in standard deviations of the logits, makes the copies nearly equal. Uneven numbers of copies are one for
    half of the rows, and geometric for the others. `named`: groups say which rows are copies.
    """
    fit, test = parts(shift, 200, rng, suite=suite)
    often = np.where(rng.random(200) < 0.5, 1, rng.geometric(1 / times, 200)) if uneven else np.full(200, times)
    rows = np.arange(200).repeat(often)
    logits = fit.logits[rows] + noise * fit.logits.std() * rng.normal(size=(len(rows), fit.n_classes))
    logits = logits.astype(fit.logits.dtype)
    return Drawn(Predictions(logits, fit.y[rows], groups=rows if named else None), test)


def clustered(rng: Generator, *, shared: float = 0.9, named: bool) -> Drawn:
    """Return a hundred simulated clusters of ten rows, which share a class and most of the variance of their logits."""

    def clusters(n: int, size: int) -> Predictions:
        y = rng.integers(10, size=n)
        common = rng.normal(size=(n, 10)).repeat(size, axis=0)
        own = rng.normal(size=(n * size, 10))
        y = y.repeat(size)
        logits = 5.5 * np.eye(10)[y] + 2 * (np.sqrt(shared) * common + np.sqrt(1 - shared) * own)
        return Predictions(logits.astype(np.float32), y, groups=np.arange(n).repeat(size) if named else None)

    return Drawn(clusters(100, 10), clusters(20_000, 1))


# Conditions that are simulated, and rows of bundles with noise.


def simulated(make: Callable[[int, Generator], Predictions], n: int, rng: Generator) -> Drawn:
    """Return n rows, and 20,000 of the same kind."""
    data = make(n + 20_000, rng)
    return Drawn(data.take(slice(n)), data.take(slice(n, None)))


def by_class(n: int, rng: Generator, *, n_classes: int = 10) -> Predictions:
    """Draw logits that tell nothing: how often a prediction is right depends on the predicted class alone."""
    often = rng.uniform(0.05, 0.95, size=n_classes)
    logits = 2 * rng.normal(size=(n, n_classes))
    prediction = logits.argmax(axis=1)
    wrong = (prediction + rng.integers(1, n_classes, size=n)) % n_classes
    return Predictions(logits.astype(np.float32), np.where(rng.random(n) < often[prediction], prediction, wrong))


def heavy_tails(n: int, rng: Generator) -> Predictions:
    """Draw logits with noise of Student's t with two degrees of freedom."""
    y = rng.integers(10, size=n)
    return Predictions((4 * np.eye(10)[y] + rng.standard_t(2, size=(n, 10))).astype(np.float32), y)


def scaled(n: int, rng: Generator, *, deviation: float) -> Predictions:
    """Draw classes from softmax(t), and logits t times a factor of the row, lognormal with this deviation."""
    t = 1.5 * rng.normal(size=(n, 10))
    y = (t + rng.gumbel(size=t.shape)).argmax(axis=1)
    return Predictions((t * np.exp(deviation * rng.normal(size=(n, 1)))).astype(np.float32), y)


def mislabelled(draw: Callable[[Generator], Drawn], rng: Generator) -> Drawn:
    """Replace one in ten labels of the fit by any class; those of the test are right."""
    fit, test = draw(rng)
    some = rng.random(len(fit)) < 0.1
    y = np.where(some, rng.integers(fit.n_classes, size=len(fit)), fit.y)
    return Drawn(Predictions(fit.logits, y), test)


class Condition(NamedTuple):
    """What the page calls it, and what draws its rows."""

    title: str
    draw: Callable[[Generator], Drawn]


CONDITIONS = {
    "d1": Condition("200 rows of D1", partial(parts, "D1", 200)),
    "copies-d1": Condition("each of them five times", partial(copied, shift="D1", times=5, named=False)),
    "copies-d1-groups": Condition("the same, with groups", partial(copied, shift="D1", times=5, named=True)),
    "copies-d2": Condition("200 rows of D2, five times", partial(copied, shift="D2", times=5, named=False)),
    "copies-uneven": Condition(
        "D1, copies in uneven numbers", partial(copied, shift="D1", times=8, uneven=True, named=False)
    ),
    "frames-d1": Condition("D1, ten nearly equal rows", partial(copied, shift="D1", times=10, noise=0.01, named=False)),
    "frames-d1-fine": Condition(
        "D1, ten rows even closer", partial(copied, shift="D1", times=10, noise=0.001, named=False)
    ),
    "frames-d1-coarse": Condition(
        "D1, ten rows less close", partial(copied, shift="D1", times=10, noise=0.05, named=False)
    ),
    "frames-d1-groups": Condition(
        "D1, ten rows less close, with groups", partial(copied, shift="D1", times=10, noise=0.05, named=True)
    ),
    "frames-d1-uneven": Condition(
        "D1, nearly equal rows in uneven numbers",
        partial(copied, shift="D1", times=8, noise=0.01, uneven=True, named=False),
    ),
    "frames-d2": Condition("D2, ten nearly equal rows", partial(copied, shift="D2", times=10, noise=0.01, named=False)),
    **{
        f"{kind}-{suite}-{shift}": Condition(
            f"{name}, {shift}, {many}", partial(copied, shift=shift, times=5, noise=noise, named=False, suite=suite)
        )
        for suite, name in (("r8-dan", "R8"), ("ng18-dan", "18 newsgroups"))
        for shift in ("D1", "OOD")
        for kind, many, noise in (("copies", "200 rows, five times", 0.0), ("frames", "five nearly equal rows", 0.05))
    },
    "clusters": Condition("clusters of ten, simulated", partial(clustered, named=False)),
    "clusters-groups": Condition("the same, with groups", partial(clustered, named=True)),
    "clusters-loose": Condition("looser clusters of ten", partial(clustered, shared=0.75, named=False)),
    "clusters-loose-groups": Condition("the same, with groups", partial(clustered, shared=0.75, named=True)),
    "by-class": Condition("right by predicted class alone, 200 rows", partial(simulated, by_class, 200)),
    "by-class-100": Condition(
        "the same, 100 classes, 1,000 rows", partial(simulated, partial(by_class, n_classes=100), 1000)
    ),
    "tails": Condition("heavy tails, 200 rows", partial(simulated, heavy_tails, 200)),
    "tails-more": Condition("heavy tails, 1,000 rows", partial(simulated, heavy_tails, 1000)),
    "scales": Condition(
        "a scale of its own for each row, 1,000 rows", partial(simulated, partial(scaled, deviation=1.0), 1000)
    ),
    "no-scales": Condition(
        "the same scale for all, 1,000 rows", partial(simulated, partial(scaled, deviation=0), 1000)
    ),
    "noise-d0": Condition("clean, 1,000 rows, labels wrong in 10 %", partial(mislabelled, partial(parts, "D0", 1000))),
    "noise-d1": Condition("D1, 1,000 rows, labels wrong in 10 %", partial(mislabelled, partial(parts, "D1", 1000))),
    "noise-text": Condition(
        "18 newsgroups, 1,000 rows, labels wrong in 10 %",
        partial(mislabelled, partial(parts, "D0", 1000, suite="ng18-dan")),
    ),
    "noise-r8": Condition(
        "R8, D1, 1,000 rows, labels wrong in 10 %", partial(mislabelled, partial(parts, "D1", 1000, suite="r8-dan"))
    ),
    "d1-100": Condition("100 rows of D1", partial(parts, "D1", 100)),
    "text-d1-100": Condition("100 rows of D1, 18 newsgroups", partial(parts, "D1", 100, suite="ng18-dan")),
    "ood-300": Condition("300 rows of OOD", partial(parts, "OOD", 300)),
    "ood-text-300": Condition("300 rows of OOD, R8", partial(parts, "OOD", 300, suite="r8-dan")),
}
"""In the order of the page."""


Method = Callable[[Drawn, int], Floats]
"""Fits on the fit part, and returns the confidence of each row of the test part."""


def calibrated(name: str, rows: Drawn, random_state: int) -> Floats:
    """Use one of the library's methods."""
    calibrator = seeded(CALIBRATORS[name], random_state)
    calibrator.fit(rows.fit.logits, rows.fit.y, groups=rows.fit.groups)
    return calibrator.predict_confidence(rows.test.logits)


def described(data: Predictions) -> Floats:
    """Return simple inputs: the log-odds of the prediction, margin, entropy, energy, ranked logits, predicted class."""
    top = -np.sort(-data.logits.astype(np.float64), axis=1)[:, :10]
    relative = data.logits - top[:, :1]
    log_p = relative - np.log(np.exp(relative).sum(axis=1, keepdims=True))
    entropy = -(np.exp(log_p) * log_p).sum(axis=1)
    highest = log_p.max(axis=1)
    rest = np.log(np.maximum(-np.expm1(highest), 1e-12))
    energy = top[:, 0] - highest - data.logits.mean(axis=1)
    return np.column_stack([highest - rest, top[:, 0] - top[:, 1], entropy, energy, top, data.prediction])


def regression(rows: Drawn, random_state: int) -> Floats:
    """Use logistic regression on the log-odds of the prediction and the predicted class."""

    def inputs(data: Predictions) -> Floats:
        return np.column_stack([described(data)[:, 0] / 4, np.eye(data.n_classes)[data.prediction]])

    return one_or_both(LogisticRegression(max_iter=1000), inputs, rows)


def trees(rows: Drawn, random_state: int) -> Floats:
    """Use boosted trees on the simple inputs."""
    classifier = HistGradientBoostingClassifier(learning_rate=0.05, max_leaf_nodes=8, random_state=random_state)
    return one_or_both(classifier, described, rows)


def one_or_both(
    classifier: LogisticRegression | HistGradientBoostingClassifier,
    inputs: Callable[[Predictions], Floats],
    rows: Drawn,
) -> Floats:
    """Fit a classifier of right and wrong; if all rows of the fit are right, or all wrong, so is everything."""
    if rows.fit.correct.all() or not rows.fit.correct.any():
        return np.full(len(rows.test), float(rows.fit.correct[0]))
    found = classifier.fit(inputs(rows.fit), rows.fit.correct).predict_proba(inputs(rows.test))
    return np.asarray(found[:, 1])


METHODS: dict[str, Method] = {
    OURS: partial(calibrated, OURS),
    "temperature": partial(calibrated, "temperature"),
    "structured-vector": partial(calibrated, "structured-vector"),
    "structured-matrix": partial(calibrated, "structured-matrix"),
    "regression": regression,
    "trees": trees,
}
MEAN = "mean"
LABELS = {
    OURS: "CCAC-X",
    "temperature": "TS",
    "structured-vector": "SVS",
    "structured-matrix": "SMS",
    "regression": "regression",
    "trees": "trees",
    MEAN: "CCAC-X and trees",
}

Key = tuple[str, str, int]


def measure(condition: str, random_state: int) -> dict[Key, float]:
    """Return the Brier score of every method."""
    rows = CONDITIONS[condition].draw(np.random.default_rng(random_state))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuxcalWarning)
        found = {name: method(rows, random_state) for name, method in METHODS.items()}
    found[MEAN] = (found[OURS] + found["trees"]) / 2
    return {(condition, name, random_state): brier(each, rows.test.correct) for name, each in found.items()}


def verdicts(scores: dict[Key, float]) -> Iterable[list[str]]:
    """Return a row for each condition: the means of all methods, and how much worse CCAC-X is than the best other."""
    for condition, (title, _) in CONDITIONS.items():
        of = {name: [scores[condition, name, state] for state in RANDOM_STATES] for name in LABELS}
        means = {name: spread(values).mean for name, values in of.items()}
        best = min((name for name in LABELS if name != OURS), key=means.__getitem__)
        more = spread([ours - theirs for ours, theirs in zip(of[OURS], of[best], strict=True)])
        behind = f"{1000 * more.mean:+.1f}±{1000 * more.deviation / np.sqrt(len(RANDOM_STATES)):.1f}"
        yield [title, *(f"**{mean:.3f}**" if name == best else f"{mean:.3f}" for name, mean in means.items()), behind]


def main() -> None:
    """Measure what is missing, and judge."""
    kept = Kept(FIGURES / "hard-conditions.csv", HEAD)
    for condition, random_state in product(CONDITIONS, RANDOM_STATES):
        if (condition, str(random_state)) not in kept.keys("condition", "random_state"):
            found = measure(condition, random_state)
            kept.add(dict(zip(HEAD, (*key, score), strict=True)) for key, score in found.items())
    scores = {(row["condition"], row["method"], int(row["random_state"])): float(row["brier"]) for row in kept.rows}
    head = ["", *LABELS.values(), "CCAC-X − best other, × 1,000"]
    write_table(FIGURES / "hard-conditions-verdict.csv", head, verdicts(scores))


if __name__ == "__main__":
    main()
