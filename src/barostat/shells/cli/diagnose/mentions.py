"""Pages of `barostat explain` for a word that is the name of none: an exit code, a reason of
Kubernetes, a message of the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barostat.shells.reports.rule_pages import Page

_LEAST_LETTERS = 3
_LEAST_STEM = 5
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_KINDS = ("cause", "symptom", "lever", "alert", "rule")
_SECTION = re.compile(r"\n\n|\n(?=[A-Z][a-z]+(?: [a-z]+)?: )")
_AGAINST = "Not evidence:"
_UNREAD = ("Source:", "Bad:", "Good:")


@dataclass(frozen=True, slots=True)
class Mentions:
    """`about`: pages that describe it, causes first. `against`: pages that say it proves nothing
    for them.
    """

    about: Sequence[Page]
    against: Sequence[Page]


def as_name(word: str) -> str:
    """Return the word in the spelling of names: `OOMKilled` and `oom_killed` are `oom-killed`."""
    kebab = _CAMEL.sub("-", word.strip())
    return kebab.lower().replace("_", "-")


def mentions(asked: str, known: Iterable[Page]) -> Mentions:
    """Return the pages in which all words of `asked` stand in one section."""
    words = _WORD.findall(asked.lower())
    if not words or max(len(word) for word in words) < _LEAST_LETTERS:
        return Mentions((), ())
    by_kind = sorted(known, key=lambda page: _KINDS.index(page.kind))
    about = [page for page in by_kind if _is_said(words, _sections(page, against=False))]
    against = [
        page
        for page in by_kind
        if page not in about and _is_said(words, _sections(page, against=True))
    ]
    return Mentions(about, against)


def _sections(page: Page, *, against: bool) -> list[str]:
    chosen = [
        section
        for section in _SECTION.split(page.text)
        if section.lstrip().startswith(_AGAINST) == against
        and not section.lstrip().startswith(_UNREAD)
    ]
    return chosen if against else [page.title, *chosen]


def _is_said(words: Sequence[str], sections: Iterable[str]) -> bool:
    return any(
        all(_stands_in(word, text) for word in words)
        for section in sections
        for text in (_WORD.findall(section.lower()),)
    )


def _stands_in(word: str, text: Sequence[str]) -> bool:
    """True for the word itself and, if it is long enough to be sure, for its other forms."""
    if len(word) < _LEAST_STEM:
        return word in text
    return any(other.startswith(word) for other in text)
