"""Reports on your own data: the page, the folder with the numbers, and the table in the terminal."""

from typing import TYPE_CHECKING

from auxcal._lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.reports.html import save_report as save_report
    from auxcal.reports.html import save_timeline as save_timeline

_HOMES = {"save_report": "auxcal.reports.html", "save_timeline": "auxcal.reports.html"}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
