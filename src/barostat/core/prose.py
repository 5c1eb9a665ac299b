"""Text for people, with a type of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prose:
    """A sentence or clause for a person. It can be shown, joined and redacted, but not parsed: it
    is no `str`, so the type checker refuses it wherever text is read.
    """

    text: str

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


NO_PROSE = Prose("")
