"""The report of a comparison: one HTML page that needs no network.

`_payload.py` computes what the charts show, with the library's own metrics and displays; `_encoding.py` packs it;
`_page.py` puts it into the page of `templates/`, with the styles and scripts of `static/` and the chart library of
`vendor/`.
"""

from auxcal.reports.html._page import save_report

__all__ = ["save_report"]
