"""Make the bundles that come with the package again, from those that a run has built.

    python -m benchmarks.package_bundles CACHE_DIR

What is not in the cache stays as it is; auxcal reproduce builds what does not come with the package. They are kept as
float16, unless that would give another prediction for more than one row in a thousand.
"""

import sys
from pathlib import Path

import numpy as np

from auxcal import Predictions
from auxcal_paper.bundles import bundle_path
from auxcal_paper.suites import suite

PACKAGED = ("cifar10-resnet20", "r8-dan", "ng18-dan")
SOURCES = Path(__file__).parents[1] / "src"
FOLDER, DEMO = SOURCES / "auxcal_paper" / "packaged", SOURCES / "auxcal" / "cli" / "demo_data"
MOST_CHANGED = 1e-3


def package(built: Path, packaged: Path) -> str:
    """Write a built bundle as one of the package, and say what became of it."""
    predictions = Predictions.load(built)
    rounded = predictions.logits.astype(np.float16).argmax(axis=1)
    changed = float((rounded != predictions.prediction).mean())
    half = changed <= MOST_CHANGED
    predictions.save(packaged, half=half)
    size = packaged.stat().st_size
    return f"{packaged.name}: half={half}, {size:,} bytes; float16 changes {changed:.2%} of the predictions"


def main(cache_dir: str) -> None:
    """Package every shift of the packaged suites."""
    for entry in map(suite, PACKAGED):
        for shift in entry.shifts:
            built = bundle_path(entry, shift, Path(cache_dir) / "bundles")
            name = f"{entry.name}-{shift}.npz"
            if built.exists():
                print(package(built, (DEMO if (DEMO / name).exists() else FOLDER) / name))


if __name__ == "__main__":
    main(*sys.argv[1:])
