"""auxcal demo: every method on logits that come with the package."""

from pathlib import Path
from typing import Annotated

import auxcal
from auxcal._core.progress import progress_bar
from auxcal.cli._files import refuse_overwrite
from auxcal.cli._options import Open, Overwrite
from auxcal.cli.compare import open_page, print_comparisons, print_plain, report_part
from auxcal.cli.output import console

BUNDLES = Path(__file__).parent / "demo_data"
"""Predictions of a ResNet-20 on CIFAR-10; benchmarks/package_bundles.py made them."""

SHIFTS = {
    "OOD": (
        "CIFAR-10 with out-of-distribution images",
        "A ResNet-20 trained on CIFAR-10 meets 28,000 CIFAR-10 images and 12,000 from CIFAR-100, nearly all of which "
        "show none of its classes.",
    ),
    "D1": (
        "CIFAR-10 rotated and zoomed",
        "The same ResNet-20 meets 40,000 CIFAR-10 images that are rotated, shifted and zoomed at random.",
    ),
}
"""A name and a sentence for each bundle."""

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def demo(
    out: Annotated[Path, "The folder for report.html."] = Path(),
    open_: Open = False,
    overwrite: Overwrite = False,
) -> None:
    """See what calibration brings: every method on real logits that come with the package, in a minute.

    A CIFAR-10 classifier meets images of other classes, and images that are rotated, shifted and zoomed.

    Examples
    --------
    auxcal demo
    auxcal demo --out demo/ --open
    """
    from auxcal.report.folder import PAGE, make_folder, write_page

    make_folder(out)
    refuse_overwrite(out / PAGE, overwrite=overwrite)
    with progress_bar("comparing") as report:
        comparisons = [
            auxcal.compare(
                auxcal.Predictions.load(BUNDLES / f"cifar10-resnet20-{shift}.npz"),
                name=name,
                class_names=CLASSES,
                report=report_part(report, index, len(SHIFTS)),
            )
            for index, (shift, (name, _)) in enumerate(SHIFTS.items())
        ]
        page = write_page(comparisons, out, about=[about for _, about in SHIFTS.values()])
    screen = console()
    print_comparisons(screen, comparisons)
    for path in page:
        print_plain(screen, f"The report, with all charts: {path}")
    print_plain(screen, "With your own logits:        auxcal compare logits.npz --out report/")
    if open_:
        open_page(page)
