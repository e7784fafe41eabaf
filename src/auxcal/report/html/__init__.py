"""Reports: the page of a comparison, and that of a timeline, each one HTML file that needs no network.

`_payload.py` computes what the charts show, with the library's own metrics and displays; `_page.py` puts it into the
pages of `templates/`, with the styles and scripts of `static/` and the chart library of `vendor/`.
"""

from auxcal.report.html._page import save_report, save_timeline

__all__ = ["save_report", "save_timeline"]
