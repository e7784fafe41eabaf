"""What each part of CCAC-X brings: the method without it, on five bundles.

    python benchmarks/ablation.py [FOLDER]

Every variant is the library's own code with a few names replaced while it is fitted and measured. Writes into the
folder, docs/figures by default: ablation.csv, and the tables ablation-many.csv for up to 10,000 labels and
ablation-few.csv for 200. Takes about twenty minutes, and goes on where it was stopped; to measure anew, delete
ablation.csv.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from _evidence import BUNDLES, Kept, paired, parts, write_table
from auxcal import CrossFittedCCAC, Predictions
from auxcal.calibrators import _committee, _open_map, _score_maps
from auxcal.calibrators import cross_fitted_ccac as method
from auxcal.calibrators._binary import relative, top_scores
from auxcal.experiments import Results

FEW, MANY = 200, 10_000
RANDOM_STATES = (0, 1, 2)
WHOLE = "the whole"
VOICES = ("beta calibration", "isotonic regression", "the open map")

Change = tuple[Any, str, Any]
"""Where a name is, the name, and what it is for a while."""


def unheard(voice: int) -> list[Change]:
    """Give a voice no weight, and its weight with no rows to the others."""

    def muted(*said: Any) -> np.ndarray:
        log_odds = VOICES_OF(*said)
        log_odds[:, voice] = 0
        return log_odds

    prior = [0.0 if i == voice else weight for i, weight in enumerate(method._PRIOR)]
    return [(method, "_PRIOR", prior), (method, "_voices", muted)]


def unfitted_map(data: Predictions, folds: np.ndarray, start: _open_map.OpenMap) -> _open_map.CrossFitted:
    """Leave the open map at temperature scaling, with "none" out of reach."""
    theta = start.theta.copy()
    theta[-1, -1] = -50
    return as_seen(data, _open_map.CrossFitted(start._replace(theta=theta), np.empty(0), 0.0, None))


def closed_map(data: Predictions, folds: np.ndarray, start: _open_map.OpenMap) -> _open_map.CrossFitted:
    """Fit the open map without the rows of no class; those are then read by a map that has not seen them either."""
    known = data.y >= 0
    found = _open_map.cross_fit(data.take(known), folds[known], start)
    readings = as_seen(data, found).readings
    readings[known] = found.readings
    return found._replace(readings=readings)


def as_seen(data: Predictions, found: _open_map.CrossFitted) -> _open_map.CrossFitted:
    """Read every row by the mean map."""
    scores = found.map.scores(found.map.coordinates(data.logits, data.features), relative(data.logits))
    return found._replace(readings=_open_map.read(scores, data.prediction))


def map_on_seen(data: Predictions, folds: np.ndarray, start: _open_map.OpenMap) -> _open_map.CrossFitted:
    """Read every row by the mean map, which has seen it."""
    return as_seen(data, _open_map.cross_fit(data, folds, start))


def maps_on_seen(data: Predictions, folds: np.ndarray) -> tuple[_score_maps.ScoreMaps, np.ndarray]:
    """Judge the maps of the score on the rows they were fitted on."""
    maps, _ = _score_maps.cross_fit_maps(data, folds)
    return maps, maps.log_odds(top_scores(data.logits))


def no_networks(data: Predictions, seen: _committee.Seen, *rest: Any) -> tuple[_committee.Committee, np.ndarray]:
    """Add nothing to what the voices say."""
    inputs = _committee._learn_inputs(_committee._describe(seen))
    width = len(inputs.centre) + 1
    layers = np.zeros((width, 1), np.float32), np.zeros((1, 1), np.float32)
    biases = np.zeros(1, np.float32), np.zeros(1, np.float32)
    return _committee.Committee(inputs, layers, biases, 1.0, np.zeros(data.n_classes, np.float32)), seen.base


def heard(losses: np.ndarray, prior: Sequence[float]) -> np.ndarray:
    """Weigh the widths without the choice of no network."""
    return BY_EVIDENCE(losses, (0.0, *prior[1:]))


def scoreless(*given: Any) -> _open_map.OpenDesign:
    """Let "none" not see the log-odds of the prediction."""
    design = DESIGN(*given)
    design.own[:, -1] = 0
    return design


def unranked(seen: _committee.Seen) -> np.ndarray:
    """Describe a sample without its ranked logits."""
    first = _open_map.N_READINGS + 4  # after the readings come score, margin, entropy and energy
    return np.delete(DESCRIBE(seen), slice(first, first + min(seen.near.z.shape[1], _committee._MOST_RANKS)), axis=0)


VOICES_OF, DESCRIBE, DESIGN = method._voices, _committee._describe, _open_map.OpenMap.design
BY_EVIDENCE = _committee.by_evidence

VARIANTS: dict[str, list[Change]] = {
    WHOLE: [],
    **{f"without the voice of {name}": unheard(voice) for voice, name in enumerate(VOICES)},
    "the open map not fitted": [*unheard(2), (method, "cross_fit", unfitted_map)],
    "the open map without rows of no class": [(method, "cross_fit", closed_map)],
    "the open map without the score of none": [(_open_map.OpenMap, "design", scoreless)],
    "the open map of few rows as free as of many": [(_open_map, "_OF_FEW", _open_map._OF_MANY)],
    "the open map with one width, chosen on one fold": [(_open_map, "_over_widths", _open_map._with_best_width)],
    "voices judged on rows they have seen": [
        (method, "cross_fit", map_on_seen),
        (method, "cross_fit_maps", maps_on_seen),
    ],
    "voices not weighed, but at their prior": [
        (method, "stack", lambda log_odds, correct, start, hold: np.append(method._PRIOR, 0))
    ],
    "no networks": [(method, "cross_fit_committee", no_networks)],
    "networks in any case": [(_committee, "by_evidence", heard)],
    "networks of the strictest width only": [(_committee, "WIDTHS", _committee.WIDTHS[:1])],
    "networks of the most lenient width only": [(_committee, "WIDTHS", _committee.WIDTHS[-1:])],
    "no last map": [(method, "beta_log_odds", lambda log_odds, coefficients: log_odds)],
    "networks without ranked logits": [(_committee, "_describe", unranked)],
    "networks without the quantile of the margin": [(_committee, "_KNOTS", 1)],
    "networks without the logits of the classes": [(_committee, "_MOST_COORDINATES", 0)],
    "2 folds": [(method, "as_whole", lambda value, name, least: 2 if name == "n_folds" else value)],
}


@contextmanager
def replaced(changes: list[Change]) -> Iterator[None]:
    """Make the changes for a while."""
    with ExitStack() as changed:
        for change in changes:
            changed.enter_context(patch.object(*change))
        yield


def measure(kept: Kept, where: tuple[str, str], random_state: int) -> None:
    """Measure every variant with few labels and with many, or all that there are."""
    pool, test = parts(where, random_state)
    for n_labels, (name, changes) in product((FEW, min(MANY, len(pool))), VARIANTS.items()):
        if kept.lacks(where, name, random_state, n_labels):
            labelled = pool.take(slice(n_labels))
            with replaced(changes):
                fit = partial(CrossFittedCCAC(random_state=random_state).fit, labelled.logits, labelled.y)
                kept.measure(where, name, random_state, n_labels, fit, test)


def table(results: Results) -> list[list[str]]:
    """Return what each variant adds to the Brier score, in thousandths; bold where it is beyond two standard errors."""
    rows = [[f"{WHOLE}: Brier score"], *([name] for name in VARIANTS if name != WHOLE)]
    for suite, shift in BUNDLES:
        here = results.where(suite=suite, shift=shift)
        whole = here.where(method=WHOLE)
        rows[0].append(f"{whole.spread('brier').mean:.3f}")
        for row in rows[1:]:
            more = paired(here.where(method=row[0]), whole, "brier")
            text = f"{1000 * more.mean:+.1f}".replace("-0.0", "+0.0")
            row.append(f"**{text}**" if more.significant and text != "+0.0" else text)
    return rows


def main(folder: str = "docs/figures") -> None:
    """Measure, and write the tables."""
    kept = Kept(Path(folder) / "ablation.csv")
    for random_state, where in product(RANDOM_STATES, BUNDLES):
        measure(kept, where, random_state)
    for name, few in (("few", True), ("many", False)):
        rows = tuple(row for row in kept.results if (row.n_fit == FEW) is few)
        write_table(Path(folder) / f"ablation-{name}.csv", ["", *BUNDLES.values()], table(Results(rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
