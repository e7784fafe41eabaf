"""Reports: results as tables, verdicts on the paper's claims, figures, and the pages that show them."""

from typing import TYPE_CHECKING

from auxcal._lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.reports.claims import CLAIMS as CLAIMS
    from auxcal.reports.claims import Claim as Claim
    from auxcal.reports.claims import Verdict as Verdict
    from auxcal.reports.claims import judge as judge
    from auxcal.reports.html import save_report as save_report
    from auxcal.reports.pages import write_pages as write_pages
    from auxcal.reports.tables import Cell as Cell
    from auxcal.reports.tables import Line as Line
    from auxcal.reports.tables import Table as Table
    from auxcal.reports.tables import table as table

_HOMES = {
    "CLAIMS": "auxcal.reports.claims",
    "Cell": "auxcal.reports.tables",
    "Claim": "auxcal.reports.claims",
    "Line": "auxcal.reports.tables",
    "Table": "auxcal.reports.tables",
    "Verdict": "auxcal.reports.claims",
    "judge": "auxcal.reports.claims",
    "save_report": "auxcal.reports.html",
    "table": "auxcal.reports.tables",
    "write_pages": "auxcal.reports.pages",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
