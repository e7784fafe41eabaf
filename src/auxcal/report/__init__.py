"""Reports on your own data: the page, the folder with the numbers, and the table in the terminal."""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.report.html import save_report as save_report
    from auxcal.report.html import save_timeline as save_timeline

_EXPORTS = {"save_report": "auxcal.report.html", "save_timeline": "auxcal.report.html"}

__all__ = list(_EXPORTS)

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
