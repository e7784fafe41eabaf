"""Reports on your own data, each one HTML file that needs no network."""

from auxcal.report.html import save_report, save_timeline

__all__ = ["save_report", "save_timeline"]
