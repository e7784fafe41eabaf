"""auxcal demo: every method on logits that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auxcal._core.progress import progress_bar
from auxcal.cli._comparing import explain, open_page, print_plain, share_of, show
from auxcal.cli._own_files import Overwrite, refuse_overwrite
from auxcal.cli._terminal import console

SHIFTS = {
    "OOD": (
        "CIFAR-10 with out-of-distribution images",
        "A ResNet-20 trained on CIFAR-10 meets 28,000 CIFAR-10 images and 12,000 from Tiny-ImageNet, most of which "
        "show none of its classes.",
    ),
    "D1": (
        "CIFAR-10 rotated and zoomed",
        "The same ResNet-20 meets 40,000 CIFAR-10 images that are rotated, shifted and zoomed at random.",
    ),
}
"""What the demo shows: a name and a sentence for each bundle."""


def demo(
    out: Annotated[Path, typer.Option(help="The folder for report.html.")] = Path(),
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """See what calibration brings: every method on real logits that come with the package, in a minute.

    A CIFAR-10 classifier meets images of other classes, and images that are rotated, shifted and zoomed.

    Examples
    --------
    auxcal demo
    auxcal demo --out demo/ --open
    """
    import auxcal
    from auxcal.report.folder import PAGE, make_folder, write_page
    from auxcal_paper.bundles import bundle
    from auxcal_paper.suites.cifar10 import CIFAR10_RESNET20

    make_folder(out)
    refuse_overwrite(out / PAGE, overwrite=overwrite)
    with progress_bar("comparing") as update:
        comparisons = [
            auxcal.compare(
                bundle(CIFAR10_RESNET20, shift, data_dir=out, cache_dir=out),  # packaged: reads neither
                name=name,
                class_names=CIFAR10_RESNET20.class_names,
                report=share_of(update, index, len(SHIFTS)),
            )
            for index, (shift, (name, _)) in enumerate(SHIFTS.items())
        ]
        page = write_page(comparisons, out, about=[about for _, about in SHIFTS.values()])
    screen = console()
    for comparison in comparisons:
        show(screen, comparison)
    explain(screen)
    screen.print()
    for path in page:
        print_plain(screen, f"The report, with all charts: {path}")
    print_plain(screen, "With your own logits:        auxcal compare logits.npz --out report/")
    if open_:
        open_page(page)
