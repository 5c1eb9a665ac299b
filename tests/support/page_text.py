"""What a page says, without the marks that keep words on one line or let them go on in the next."""

from __future__ import annotations

import re


def unbroken(html: str) -> str:
    """The page, to be searched for sentences."""
    return re.sub("<span class='whole'>(.*?)</span>", r"\1", html).replace("<wbr/>", "")
