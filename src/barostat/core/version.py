"""An engine's version as something that can be compared, whatever its builders appended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_NUMBERS = re.compile(r"^\s*v?(\d{1,9})\.(\d{1,9}(?!\d)|x)(?:\.(\d{1,9}(?!\d)|x))?(?:\.(\d+))?")


@dataclass(frozen=True, slots=True, order=True)
class EngineVersion:
    """major.minor.patch of an engine; `text` keeps what it called itself.

    Development builds and local suffixes (`0.23.1rc1.dev1133`, `0.32.0+cpu`, `0.9.0.1`) compare as
    their release.
    """

    release: tuple[int, int, int]
    text: str = ""

    def at_least(self, text: str) -> bool:
        """True if this version is `text` or newer."""
        other = parse_version(text)
        return other is not None and self.release >= other.release

    def before(self, text: str) -> bool:
        """True if this version is older than `text`."""
        return not self.at_least(text)

    def beyond(self, text: str) -> bool:
        """True if this version is of a later minor than `text`: more than its patches."""
        other = parse_version(text)
        return other is not None and self.release[:2] > other.release[:2]

    def __str__(self) -> str:
        return self.text or ".".join(map(str, self.release))


@lru_cache(maxsize=512)
def parse_version(text: str | None) -> EngineVersion | None:
    """The version that the text starts with, or None if it names none (`main`, `2026-08`, an
    empty text).

    `0.9.x` reads as 0.9.0: the oldest of that minor.
    """
    if not text or not (found := _NUMBERS.match(text)):
        return None
    numbers = [0 if part in (None, "x") else int(part) for part in found.groups()[:3]]
    if numbers[0] > 99:  # a date such as 2026.08
        return None
    return EngineVersion((numbers[0], numbers[1], numbers[2]), text.strip())
