"""Run by the Python that has NannyML: print CBPE's accuracy for each file of benchmarks.without_labels.nannyml_peer."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")

import nannyml  # noqa: E402


def frame(proba: np.ndarray, prediction: np.ndarray) -> pd.DataFrame:
    """Return rows as NannyML wants them."""
    proba = np.asarray(proba, dtype=float)
    table = pd.DataFrame(proba / proba.sum(axis=1, keepdims=True), columns=[f"p{k}" for k in range(proba.shape[1])])
    return table.assign(prediction=[f"c{k}" for k in prediction])


def accuracy(path: Path) -> float:
    """Return the accuracy as CBPE estimates it."""
    with np.load(path) as held:
        reference, rows = (
            frame(held["reference"], held["reference_prediction"]),
            frame(held["proba"], held["prediction"]),
        )
        reference = reference.assign(y=[f"c{k}" for k in held["y"]])
    classes = {f"c{k}": f"p{k}" for k in range(reference.filter(regex="^p[0-9]").shape[1])}
    seen = set(reference["y"])
    estimator = nannyml.CBPE(
        problem_type="classification_multiclass",
        y_pred_proba={name: column for name, column in classes.items() if name in seen},
        y_pred="prediction",
        y_true="y",
        metrics=["accuracy"],
        chunk_number=1,
    )
    estimator.fit(reference[reference["prediction"].isin(seen)])
    found = estimator.estimate(rows[rows["prediction"].isin(seen)]).filter(period="analysis").to_df()
    return float(found[("accuracy", "value")].iloc[0])


for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    print(accuracy(path))
