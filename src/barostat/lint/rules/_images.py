"""What several rules say of images."""

from __future__ import annotations

import re

_OWN = re.compile(r"(?:(?:docker\.io|index\.docker\.io|registry\.hub\.docker\.com)/)?vllm/")


def vllms_own(image: str) -> bool:
    """True for the project's own images, which are tagged with vLLM's version, and whose `latest`
    is the newest.
    """
    return _OWN.match(image) is not None
