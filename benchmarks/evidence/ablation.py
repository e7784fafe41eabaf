"""What each part of CCAC-X brings: the method without it, on six bundles.

    python -m benchmarks.evidence.ablation [FOLDER]

Every variant is the library's own code with a few names replaced while it is fitted and measured. Writes into the
folder, docs/figures by default: ablation.csv, and the tables ablation-many.csv for up to 10,000 labels and ablation-
few.csv for 200; and ablation-hard.csv under the conditions of `hard_conditions`. Takes about twenty minutes, and goes
on where it was stopped; to measure anew, delete ablation.csv.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.evidence import hard_conditions
from benchmarks.results import BUNDLES, ResultsFile, paired, parts, write_table

from auxcal import CCACX, AuxcalWarning
from auxcal.calibrators import base
from auxcal.calibrators.ccac_x import correction, evidence, method, open_map
from auxcal.metrics import brier
from auxcal_paper import Results

FEW, MANY = 200, 10_000
RANDOM_STATES = (0, 1, 2)
WHOLE = "the whole"
BASE_CALIBRATORS = ("beta calibration", "isotonic regression", "the open map", "the shared curve")
ABLATED = BUNDLES | {
    ("lenet-5-cifar-10", "D0"): "LeNet-5, clean",
}

Change = tuple[Any, str, Any]
"""Where a name is, the name, and what it is for a while."""


NEVER_WIDER: Change = (open_map, "_WIDER_PRIOR", np.array([1.0, 0.0]))


def without(index: int) -> list[Change]:
    """Give a base calibrator no weight, whatever the evidence says."""
    return [(method, "_PRIOR", np.where(np.arange(len(BASE_CALIBRATORS)) == index, 0.0, method._PRIOR))]


def fixed(width: float) -> list[Change]:
    """Choose no width of the open map by evidence."""
    return [(open_map, "_choose_widths", lambda rows: (open_map.Widths(width, width), rows.centre)), NEVER_WIDER]


def one_for_both(rows: Any) -> tuple[open_map.Widths, np.ndarray]:
    """Choose one width for the biases and the shared weights."""
    width, theta = open_map._best_width(rows, lambda width: open_map.Widths(width, width), rows.centre)
    return open_map.Widths(width, width), theta


def scoreless(own: np.ndarray, shared: np.ndarray) -> open_map.OpenDesign:
    """Let "none" not see the log-odds of the prediction."""
    own[:, -1] = 0
    return OPEN_DESIGN(own, shared)


def map_on_seen(data: Any, near: Any, folds: np.ndarray) -> open_map.CrossFitted:
    """Read every row by the map that has seen it."""
    found = open_map.cross_fit(data, near, folds)
    scores = found.map.scores(found.map.coordinates(data.logits, data.features), near)
    return found._replace(readings=open_map.read(scores, data.prediction))


def maps_on_seen(scores: np.ndarray, correct: np.ndarray, folds: np.ndarray, weight: None) -> tuple[Any, ...]:
    """Judge the maps of the score on the rows that they were fitted on."""
    maps, _, problem = CROSS_FIT_MAPS(scores, correct, folds, weight)
    return maps, maps.log_odds(scores), problem


def curve_on_seen(data: Any, near: Any, folds: np.ndarray) -> tuple[Any, np.ndarray]:
    """Read every row by the curve that has seen it."""
    curve, _ = CROSS_FIT_CURVE(data, near, folds)
    return curve, curve.log_odds(data.logits, data.prediction)


def no_correction(
    inputs: np.ndarray, base: np.ndarray, prediction: np.ndarray, n_classes: int, correct: np.ndarray, weight: None
) -> correction.Corrected:
    """Return the weighted mean of the base calibrators as it is."""
    nothing = np.zeros((len(correction._KNOTS) + 1, len(inputs)), dtype=np.float32)
    same = correction.Correction(inputs.min(axis=1), inputs.max(axis=1), nothing[1:], nothing, 1.0, 0.0)
    return correction.Corrected(same, np.zeros(n_classes, np.float32), (0.0, 0.0), None)


def without_scale(near: Any, readings: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Leave out the last inputs, those of the scale of the row."""
    return correction.describe(near, readings, coordinates)[: -3 if near.z.shape[1] > 2 else -1]


CROSS_FIT_MAPS, CROSS_FIT_CURVE, OPEN_DESIGN = method.cross_fit_maps, method.cross_fit_curve, open_map.OpenDesign

WITHOUT_EFFECTS: list[Change] = [(correction, "_PRIOR_OF_EFFECTS", np.array([1.0, 0, 0, 0, 0]))]
WITHOUT_SCALE: list[Change] = [(method, "describe", without_scale)]

VARIANTS: dict[str, list[Change]] = {
    WHOLE: [],
    **{f"without {name}": without(index) for index, name in enumerate(BASE_CALIBRATORS)},
    "the open map without the score of none": [(open_map, "OpenDesign", scoreless)],
    "the open map with fixed widths of 0.3": fixed(0.3),
    "the open map with fixed widths of 1": fixed(1.0),
    "the open map with one width for all": [(open_map, "_choose_widths", one_for_both)],
    "the open map never wider than its evidence": [NEVER_WIDER],
    "base calibrators judged on rows they have seen": [
        (method, "cross_fit", map_on_seen),
        (method, "cross_fit_maps", maps_on_seen),
        (method, "cross_fit_curve", curve_on_seen),
    ],
    "base calibrators not weighed, but at their prior": [
        (method, "weights_by_evidence", lambda evidence, prior: prior)
    ],
    "evidence without doubt": [(evidence, "_DOUBT", 1.0)],
    "no correction": [(method, "fit_correction", no_correction)],
    "correction: lines instead of curves": [(correction, "_KNOTS", ())],
    "correction: the two largest logits only": [(correction, "_MOST_RANKS", 2)],
    "correction: without the coordinates": [(correction, "_MOST_COORDINATES", 0)],
    "correction: without the effects of classes": WITHOUT_EFFECTS,
    "correction: without the scale of the row": WITHOUT_SCALE,
    "correction: without slope and offset": [
        (correction, "_SLOPE", 1e-4),
        (correction, "_OFFSET", 1e-4),
    ],
    "2 folds": [(method, "as_whole", lambda value, name, least: 2)],
}

HARD = {
    "copies-d1": "copies",
    "frames-d1": "nearly equal rows",
    "frames-d1-groups": "groups",
    "by-class": "risk by class",
    "scales": "scales",
    "tails": "heavy tails",
}
"""Conditions of `hard_conditions`, for the parts that the bundles don't need."""

HARD_VARIANTS: dict[str, list[Change]] = {
    "no units: every row is one": [
        (base, "parts_with_units", lambda data, select, stacklevel: (data, select)),
        (method, "merge_copies", lambda data: (data, slice(None))),
        (method, "weigh_units", lambda data: data),
    ],
    "every row of a unit counts as one": [
        (method, "merge_copies", lambda data: (data, slice(None))),
        (method, "weigh_units", lambda data: data),
    ],
    "without the shared curve": without(3),
    "correction: without the effects of classes": WITHOUT_EFFECTS,
    "correction: as much doubt about effects as elsewhere": [(correction, "_DOUBT_OF_EFFECTS", evidence._DOUBT)],
    "correction: without the scale of the row": WITHOUT_SCALE,
    "no correction": VARIANTS["no correction"],
}


@contextmanager
def replaced(changes: list[Change]) -> Iterator[None]:
    """Make the changes for a while."""
    with ExitStack() as changed:
        for change in changes:
            changed.enter_context(patch.object(*change))
        yield


def measure(file: ResultsFile, where: tuple[str, str], random_state: int) -> None:
    """Measure every variant with few labels and with many, or all that there are."""
    pool, test = parts(where, random_state)
    for n_labels, (name, changes) in product((FEW, min(MANY, len(pool))), VARIANTS.items()):
        if file.lacks(where, name, random_state, n_labels):
            labelled = pool.take(slice(n_labels))
            with replaced(changes):
                fit = partial(CCACX(random_state=random_state).fit, labelled.logits, labelled.y)
                file.measure(where, name, random_state, n_labels, fit, test)


def table(results: Results) -> list[list[str]]:
    """Return what each variant adds to the Brier score, in thousandths; bold where it is beyond two standard errors."""
    rows = [[f"{WHOLE}: Brier score"], *([name] for name in VARIANTS if name != WHOLE)]
    for suite, shift in ABLATED:
        here = results.where(suite=suite, shift=shift)
        whole = here.where(method=WHOLE)
        rows[0].append(f"{whole.spread('brier').mean:.3f}")
        for row in rows[1:]:
            more = paired(here.where(method=row[0]), whole, "brier")
            text = f"{1000 * more.mean:+.1f}".replace("-0.0", "+0.0")
            row.append(f"**{text}**" if more.significant and text != "+0.0" else text)
    return rows


def hard_table() -> Iterator[list[str]]:
    """Yield what each variant adds to the Brier score under hard conditions, in thousandths."""
    means = {}
    for condition, (name, changes) in product(HARD, [(WHOLE, []), *HARD_VARIANTS.items()]):
        scores = []
        for random_state in hard_conditions.RANDOM_STATES:
            rows = hard_conditions.CONDITIONS[condition].draw(np.random.default_rng(random_state))
            with warnings.catch_warnings(), replaced(changes):
                warnings.simplefilter("ignore", AuxcalWarning)
                confidence = hard_conditions.calibrated(hard_conditions.OURS, rows, random_state)
            scores.append(brier(confidence, rows.test.correct))
        means[condition, name] = float(np.mean(scores))
    yield [f"{WHOLE}: Brier score", *(f"{means[condition, WHOLE]:.3f}" for condition in HARD)]
    for name in HARD_VARIANTS:
        more = (1000 * (means[condition, name] - means[condition, WHOLE]) for condition in HARD)
        yield [name, *(f"{each:+.1f}".replace("-0.0", "+0.0") for each in more)]


def main(folder: str = "docs/figures") -> None:
    """Measure, and write the tables."""
    write_table(Path(folder) / "ablation-hard.csv", ["", *HARD.values()], hard_table())
    file = ResultsFile(Path(folder) / "ablation.csv")
    for random_state, where in product(RANDOM_STATES, ABLATED):
        measure(file, where, random_state)
    for name, few in (("few", True), ("many", False)):
        rows = tuple(row for row in file.results if (row.n_fit == FEW) is few)
        write_table(Path(folder) / f"ablation-{name}.csv", ["", *ABLATED.values()], table(Results(rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
