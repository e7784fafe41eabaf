"""Run by the Python that has CatBoost: print its rows for benchmarks.evidence.signals.

CATBOOST_PYTHON catboost_worker.py FOLDER SIZES FEWEST_TEST STATE ...
"""

import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier


def main(folder: str, sizes: str, fewest_test: str, *states: str) -> None:
    """Fit CatBoost with its defaults, on the rows that benchmarks.evidence.signals draws."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    for path in sorted(Path(folder).glob("*.csv")):
        table = pd.read_csv(path)
        correct, signals = table.pop("correct").to_numpy(), table
        text = [name for name in signals if not pd.api.types.is_numeric_dtype(signals[name])]
        signals[text] = signals[text].astype(str)
        for state in map(int, states):
            order = np.random.default_rng(state).permutation(len(correct))
            for size in map(int, sizes.split(",")):
                if size + int(fewest_test) <= len(correct):
                    fit, test = order[:size], order[size:]
                    trees = CatBoostClassifier(verbose=0, random_seed=state, thread_count=1, allow_writing_files=False)
                    trees.fit(signals.iloc[fit], correct[fit].astype(int), cat_features=text)
                    confidence = trees.predict_proba(signals.iloc[test])[:, 1]
                    rows.writerow(
                        [path.stem, size, state, "CatBoost", np.mean((confidence - correct[test]) ** 2), "", "", ""]
                    )


if __name__ == "__main__":
    main(*sys.argv[1:])
