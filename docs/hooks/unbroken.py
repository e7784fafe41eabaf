"""Keep CCAC-X, CCAC-S and CCAC-T on one line: a browser would break them at the hyphen."""

import re
from typing import Any

_TAG = re.compile(r"(<[^>]+>)")
_NAME = re.compile(r"CCAC-[XST]\b")


def on_page_content(html: str, **_: Any) -> str:
    """Wrap the names in the text of a page, outside of code."""
    parts, in_code = _TAG.split(html), 0
    for place, part in enumerate(parts):
        if place % 2:
            in_code += bool(re.match(r"<(code|pre|script|style)\b", part))
            in_code -= bool(re.match(r"</(code|pre|script|style)\b", part))
        elif not in_code:
            parts[place] = _NAME.sub(r'<span class="unbroken">\g<0></span>', part)
    return "".join(parts)
