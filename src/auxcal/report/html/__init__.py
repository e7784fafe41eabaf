"""Reports: the page of a comparison, and that of a timeline, each one HTML file that needs no network.

`_payload.py` computes what the charts show, with the library's own metrics and displays; `_page.py` puts it into the
page of `templates/`, with the words, the styles and scripts of `static/` and the chart library of `vendor/`.
`_timeline_page.py` does the same for a timeline.
"""

from auxcal.report.html._page import save_report
from auxcal.report.html._timeline_page import save_timeline

__all__ = ["save_report", "save_timeline"]
