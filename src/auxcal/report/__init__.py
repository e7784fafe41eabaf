"""Comparisons and timelines for readers: in the terminal, and as one HTML file that needs no network."""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports

if TYPE_CHECKING:
    from auxcal.report.html import save_report as save_report
    from auxcal.report.html import save_timeline as save_timeline

_EXPORTS = dict.fromkeys(["save_report", "save_timeline"], "auxcal.report.html")  # which needs an extra

__all__ = list(_EXPORTS)

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
