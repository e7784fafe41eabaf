"""The paper's tables, the verdicts on its claims and its figures, and the pages that show them."""

from typing import TYPE_CHECKING

from auxcal._lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.experiments.pages.claims import CLAIMS as CLAIMS
    from auxcal.experiments.pages.claims import Claim as Claim
    from auxcal.experiments.pages.claims import Verdict as Verdict
    from auxcal.experiments.pages.claims import judge as judge
    from auxcal.experiments.pages.tables import Cell as Cell
    from auxcal.experiments.pages.tables import Line as Line
    from auxcal.experiments.pages.tables import Table as Table
    from auxcal.experiments.pages.tables import table as table
    from auxcal.experiments.pages.writing import write_pages as write_pages

_HOMES = {
    "CLAIMS": "auxcal.experiments.pages.claims",
    "Cell": "auxcal.experiments.pages.tables",
    "Claim": "auxcal.experiments.pages.claims",
    "Line": "auxcal.experiments.pages.tables",
    "Table": "auxcal.experiments.pages.tables",
    "Verdict": "auxcal.experiments.pages.claims",
    "judge": "auxcal.experiments.pages.claims",
    "table": "auxcal.experiments.pages.tables",
    "write_pages": "auxcal.experiments.pages.writing",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
