"""Reports: results as tables, verdicts on the paper's claims, figures, and the pages that show them."""

from auxcal.reports.claims import CLAIMS, Claim, Verdict, judge
from auxcal.reports.pages import write_pages
from auxcal.reports.tables import Cell, Line, Table, table

__all__ = ["CLAIMS", "Cell", "Claim", "Line", "Table", "Verdict", "judge", "table", "write_pages"]
