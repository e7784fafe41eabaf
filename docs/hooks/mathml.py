"""Formulas become MathML while the site is built, so that a page shows them without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves where it finds $…$ and $$…$$.
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Convert every formula of a page."""
    return _FORMULA.sub(_converted, content)


def _converted(match: re.Match[str]) -> str:
    tag, formula = match.groups()
    mathml = convert(html.unescape(formula), display="block" if tag == "div" else "inline")
    if "\\" in mathml:  # it leaves a command that it does not know as text
        raise ValueError(f"latex2mathml does not know a command of {formula.strip()!r}: write it in another way.")
    return f'<{tag} class="formula">{mathml}</{tag}>'
