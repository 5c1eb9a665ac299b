"""How many tokens a text may be, by what kinds of characters it has: an estimate from above for the
tokenizers of chat models, for texts whose bytes alone say too little.

Ordinary words take a token for every four letters, and at least one each. Words that no language
has (runs of consonants, capitals in the middle) take nearly one for each letter, digits and marks
one each, and letters that are not ASCII half a one for each byte.
"""

from __future__ import annotations

from collections.abc import Callable

_WINDOWS, _WINDOW_BYTES = 32, 512
_LETTERS_OF_ONE = 4
_HARD_TOKENS = 0.8
_WIDE_TOKENS = 0.5


def _kinds() -> bytes:
    kinds = bytearray(b"p" * 128 + b"w" * 128)
    for letter in b"bcdfghjklmnpqrstvwxyz":
        kinds[letter] = ord("c")
    for letter in b"aeiou":
        kinds[letter] = ord("v")
    for letter in range(ord("A"), ord("Z") + 1):
        kinds[letter] = ord("U")
    for mark in b" \n\r\t":
        kinds[mark] = ord(" ")
    return bytes(kinds)


_KINDS = _kinds()


def dense_tokens(text: bytes, below: Callable[[int], int]) -> float:
    """Estimate the tokens of this text. `below(n)` draws a whole number under `n`.

    A long text is judged by windows at random places, so that no text can be crafted for them.
    """
    most = _WINDOWS * _WINDOW_BYTES
    if len(text) <= 2 * most:
        return _tokens(text)
    last = len(text) - _WINDOW_BYTES
    places = [below(last) for _ in range(_WINDOWS)]
    sample = b"".join(text[place : place + _WINDOW_BYTES] for place in places)
    return _tokens(sample) * len(text) / most


def _tokens(text: bytes) -> float:
    kinds = text.translate(_KINDS)
    marks, wide, spaces = kinds.count(b"p"), kinds.count(b"w"), kinds.count(b" ")
    letters = len(kinds) - marks - wide - spaces
    hard = 3 * kinds.count(b"ccc") + 2 * kinds.count(b"UU")
    hard = min(letters, hard + kinds.count(b"cU") + kinds.count(b"vU"))
    words = max((letters - hard) / _LETTERS_OF_ONE, spaces)
    return words + _HARD_TOKENS * hard + marks + _WIDE_TOKENS * wide
