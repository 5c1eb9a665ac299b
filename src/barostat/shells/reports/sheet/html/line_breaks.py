"""Where the text of a page does not break: between a number and its unit, after the dashes of a
flag, within a command's `-o json`.
"""

from __future__ import annotations

import re

_LEFT_ALONE = re.compile(r"(<svg\b.*?</svg>|<[^>]*>)", re.DOTALL)
_WHOLE = re.compile(
    r"(?<![\w.,-])\d[\d,.]{0,15} (?:ms|s|min|h|d|[KMGT]iB|GB|%)(?![\w/])"
    r"|(?<![\w-])(?:-[a-z] [a-z]{1,9}|--[a-z]{1,16})"
)  # fmt: skip


def kept_whole(html: str) -> str:
    """The HTML with each of these on one line. Drawings are left as they are: their text does not
    wrap.
    """
    parts = _LEFT_ALONE.split(html)
    parts[::2] = [_WHOLE.sub(r"<span class='whole'>\g<0></span>", text) for text in parts[::2]]
    return "".join(parts)
