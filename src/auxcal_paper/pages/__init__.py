"""The paper's tables, the verdicts on its claims and its figures, and the pages that show them."""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal_paper.pages.claims import CLAIMS as CLAIMS
    from auxcal_paper.pages.claims import Claim as Claim
    from auxcal_paper.pages.claims import Verdict as Verdict
    from auxcal_paper.pages.claims import judge as judge
    from auxcal_paper.pages.tables import Cell as Cell
    from auxcal_paper.pages.tables import Line as Line
    from auxcal_paper.pages.tables import Table as Table
    from auxcal_paper.pages.tables import table as table
    from auxcal_paper.pages.writing import write_pages as write_pages

_EXPORTS = {
    "CLAIMS": "auxcal_paper.pages.claims",
    "Cell": "auxcal_paper.pages.tables",
    "Claim": "auxcal_paper.pages.claims",
    "Line": "auxcal_paper.pages.tables",
    "Table": "auxcal_paper.pages.tables",
    "Verdict": "auxcal_paper.pages.claims",
    "judge": "auxcal_paper.pages.claims",
    "table": "auxcal_paper.pages.tables",
    "write_pages": "auxcal_paper.pages.writing",
}

__all__ = list(_EXPORTS)

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
