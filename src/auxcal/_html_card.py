"""How objects show themselves in a notebook: small tables in the notebook's own fonts and colours.

The theme of a notebook is not known, so every colour is a faded text colour, which suits light and dark.
"""

from collections.abc import Iterable, Sequence
from html import escape

_BOX = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;max-width:60em;overflow-x:auto"
_TABLE = "border-collapse:collapse;color:inherit;font:inherit;margin:.6em 0 0"
_FADED = "opacity:.7"
_RULE = "border:0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent)"
_CELL = f"padding:.25em .9em .25em 0;background:none;font-variant-numeric:tabular-nums;{_RULE}"


def card(title: str, subtitle: str, *parts: str) -> str:
    """Return a block with a title, a faded line below it, and parts that are HTML already.

    Examples
    --------
    >>> from auxcal._html_card import card
    >>> "a &lt; b" in card("a < b", "")
    True
    """
    head = f'<div style="font-size:15px;font-weight:600">{escape(title)}</div>'
    line = f'<div style="{_FADED}">{escape(subtitle)}</div>'
    return f'<div style="{_BOX}">{head}{line}{"".join(parts)}</div>'


def note(text: str) -> str:
    """Return a faded line."""
    return f'<div style="{_FADED};margin-top:.4em">{escape(text)}</div>'


def grid(rows: Iterable[Sequence[str]], head: Sequence[str] = (), bold: int | None = None) -> str:
    """Return a table whose first column is text and whose others are numbers; row `bold` is set in bold."""
    body = "".join(_row(row, "td", 700 if index == bold else 400) for index, row in enumerate(rows))
    top = f"<thead>{_row(head, 'th', 600)}</thead>" if head else ""
    return f'<table style="{_TABLE}">{top}<tbody>{body}</tbody></table>'


def _row(values: Sequence[str], tag: str, weight: int) -> str:
    style = f"{_CELL};font-weight:{weight};text-align"
    cells = (
        f'<{tag} style="{style}:{"right" if column else "left"}">{escape(value)}</{tag}>'
        for column, value in enumerate(values)
    )
    return f'<tr style="background:none">{"".join(cells)}</tr>'
