"""What several rules say of images."""

from __future__ import annotations

import re

_OWN = re.compile(r"(?:(?:docker\.io|index\.docker\.io|registry\.hub\.docker\.com)/)?vllm/")

_SERVER = re.compile(_OWN.pattern + r"vllm-openai(?:[:@]|$)")


def vllms_own(image: str) -> bool:
    """True for the project's own images, which are tagged with vLLM's version, and whose `latest`
    is the newest.
    """
    return _OWN.match(image) is not None


def starts_itself(image: str) -> bool:
    """Return True for the project's own image whose entry point is the server, whatever its tag."""
    return _SERVER.match(image) is not None
