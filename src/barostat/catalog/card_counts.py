"""What a person means by `--gpu`: a card by any of its names, and how many of them. `4xA100`, `8 x
H100`, `H100x4`, `MI300X`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from barostat.catalog.cards import Card, card_names, find_card, is_slice

MOST = 1024
_COUNT_FIRST = re.compile(
    r"^(?P<count>\d{1,9})\s*(?:[x*×]\s*|\s+)(?P<name>[a-z].*)$", re.IGNORECASE
)
_COUNT_LAST = re.compile(
    r"^(?P<name>.*?[a-z0-9])\s*(?:[*×]|(?<=[0-9a-z])\s*x)\s*(?P<count>\d{1,9})$", re.IGNORECASE
)
_KNOWN_WORD = re.compile(
    r"nvidia|amd|intel|gaudi|hl|tesla|instinct|geforce|quadro|rtx|pro|gpu|oam|vf|sxm\d?|pcie|nvl|hbm\w*|ada|ampere|hopper|blackwell|generation|server"
    r"|workstation|edition|max|q|data|center|arc|super|ti|jetson|agx|thor|dgx|spark|strix|halo|radeon|ryzen|rx|xtx|gre|ai|w|laptop|shared|com|product|\d+(?:gb|g|gib)?|[a-z]{1,3}\d{1,4}[a-z]{0,2}|\d{3,4}s?"
)


@dataclass(frozen=True, slots=True)
class CardCount:
    """A number of cards of one type. `count` is None if the name states no number."""

    card: Card
    count: int | None = None


def read_card_count(text: str) -> CardCount | None:
    """The card and the count that a person wrote, or None if a word of it belongs to no card."""
    plain = " ".join(text.split())
    for pattern in (_COUNT_FIRST, _COUNT_LAST):
        found = pattern.match(plain)
        if (
            found is not None
            and 1 <= int(found["count"]) <= MOST
            and (card := _card(found["name"])) is not None
        ):
            return CardCount(card, int(found["count"]))
    whole = _card(plain)
    return None if whole is None else CardCount(whole)


def nearest_cards(text: str, most: int = 4) -> tuple[str, ...]:
    """Names of the catalogue that look like the text, best first."""
    names = {name.lower(): name for name in card_names()}
    words = re.sub(r"^\d+\s*[x*× ]\s*|\s*[x*×]\s*\d+$", "", text.lower()).split() or [text.lower()]
    scored = sorted(
        ((max(_alike(word, low) for word in words), low) for low in names), reverse=True
    )
    return tuple(names[low] for score, low in scored[:most] if score >= 0.5)


def _alike(word: str, name: str) -> float:
    """How like the name, or a part of it, the word is (0..1)."""
    return max(
        difflib.SequenceMatcher(None, word, part).ratio()
        for part in (name, *re.split(r"[\s-]", name))
    )


def _card(name: str) -> Card | None:
    """The card of that name, if every word of it may stand in a card's name; the MIG instance of
    such a card.
    """
    if is_slice(name):
        before = re.split(r"[- ]?\bmig[- ]", name.strip().lower())[0]
        return find_card(name) if not before or _card(before) is not None else None
    words = re.split(r"[\s,_/.=()-]+", name.strip().lower())
    if any(word and not _KNOWN_WORD.fullmatch(word) for word in words):
        return None
    if re.match(r"^\d+\s*[x*×]", name.strip()) or re.search(
        r"(?:\s[x*×]\s*|[*×]|(?<=\d)x(?=\d))\d*$", name.strip().lower()
    ):
        return None
    return find_card(name)
