"""The reference of the calibrators has every method, also one that the page does not name yet."""

from typing import Any

from mkdocs.structure.pages import Page

from auxcal.calibrators import CALIBRATORS


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Append what is in CALIBRATORS and not on the page."""
    if page.file.src_uri != "reference/calibrators.md":
        return markdown
    new = [kind.__name__ for kind in CALIBRATORS.values() if f"::: auxcal.{kind.__name__}\n" not in markdown]
    entries = [f"::: auxcal.calibrators.{name}\n    options: {{heading_level: 3}}\n" for name in new]
    return "".join([markdown, "\n\n## New\n\n" if new else "", *entries])
