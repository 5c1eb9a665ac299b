"""Tokens without a tokenizer: a rule that anyone can apply by hand, and synthetic words for tokens
without text.

A text is cut from its start into pieces: a run of white space of up to 16 characters, or up to five
other characters with the single space before them. About one piece per four characters of English.
A piece's id is a hash of it within the vocabulary, but for the words that the twin itself says:
these have their ids by construction, so that an answer that is sent back is recognised token for
token.

    id 0..99 "ba".."zu" | 100..9,999 four letters | 10,000.. five letters       each with the space before it
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from barostat.twin.workload.random_streams import Dice

_PIECE = re.compile(r" ?[^\s]{1,5}|\s{1,16}")
_CONSONANTS = "bdfghjklmnprstvwxyzc"
_VOWELS = "aeiou"
_SYLLABLES = tuple(consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS)
_SYLLABLE_ID = {syllable: index for index, syllable in enumerate(_SYLLABLES)}
_TWO, _FOUR = 100, 10_000
_STRETCH = 1 << 15
"""Characters, or ids, that are dealt with in one go: the interpreter does nothing else
meanwhile.
"""
SPOKEN_IDS = _FOUR * len(_CONSONANTS)
"""Ids that have a word of their own: all below this."""


def word(token: int) -> str:
    """The word of that token, with the space before it."""
    token %= SPOKEN_IDS
    if token < _TWO:
        return " " + _SYLLABLES[token]
    rest, last = divmod(token % _FOUR, _TWO)
    if token < _FOUR:
        return " " + _SYLLABLES[rest] + _SYLLABLES[last]
    return (
        " " + _SYLLABLES[rest] + _SYLLABLES[last] + _CONSONANTS[token // _FOUR % len(_CONSONANTS)]
    )


def _spoken(piece: str) -> int | None:
    """The token whose word this is, or None."""
    letters = piece[1:] if piece[:1] == " " else ""
    if len(letters) not in (2, 4, 5):
        return None
    pairs = [
        _SYLLABLE_ID.get(letters[start : start + 2]) for start in range(0, len(letters) // 2 * 2, 2)
    ]
    if any(pair is None for pair in pairs):
        return None
    token = 0
    for pair in pairs:
        token = token * _TWO + (pair or 0)
    if len(letters) == 5:
        index = _CONSONANTS.find(letters[4])
        token += _FOUR * index if index > 0 else -1 - token
    return token if token >= 0 and word(token) == piece else None


class Tokenizer:
    """Cuts texts by the rule. Remembers which piece an id first stood for, as long as it has room,
    so that ids can be read back.
    """

    def __init__(self, vocabulary: int, remembered: int = 200_000) -> None:
        """Nothing is remembered. `vocabulary`: number of ids; 0 and 1 are never given."""
        self.vocabulary = vocabulary
        self._remembered = remembered
        self._ids: dict[str, int] = {}
        self._pieces: dict[int, str] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of the text."""
        ids = self._ids
        found = []
        for piece in _pieces(text):
            token = ids.get(piece)
            found.append(self._learn(piece) if token is None else token)
        return found

    def _learn(self, piece: str) -> int:
        token = _spoken(piece)
        if token is None or not 2 <= token < self.vocabulary:
            token = 2 + int.from_bytes(
                hashlib.blake2b(piece.encode(errors="replace"), digest_size=8).digest(), "big"
            ) % (self.vocabulary - 2)
        if len(self._ids) < self._remembered:
            self._ids[piece] = token
            self._pieces.setdefault(token, piece)
        return token

    def piece(self, token: int) -> str:
        """The text of one id: what it first stood for, else its word."""
        return self._pieces.get(token) or word(token)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of the ids."""
        return "".join(map(self.piece, tokens))


def _pieces(text: str) -> Iterator[str]:
    """The pieces of the text, cut a stretch at a time: the last word of a chunk may continue and is
    cut again with the next.
    """
    start = 0
    while start < len(text):
        end = start + _STRETCH
        found = _PIECE.findall(text, start, end)
        if end < len(text):
            end -= len(found.pop())
        yield from found
        start = end


def spelled(prompt: Sequence[int]) -> str:
    """The ids with commas between them."""
    return ",".join(
        ",".join(map(str, prompt[start : start + _STRETCH]))
        for start in range(0, len(prompt), _STRETCH)
    )


def digest_of(prompt: str) -> str:
    """A name for the prompt that is spelled so: equal for equal prompts."""
    return hashlib.blake2b(prompt.encode(), digest_size=12).hexdigest()


class Answer:
    """The tokens that the twin says to one prompt: the same for the same seed, prompt and choice.
    Extended on demand.
    """

    def __init__(self, seed: int, prompt_digest: str, choice: int, vocabulary: int) -> None:
        """Nothing is said yet."""
        self._dice = Dice(seed, f"answer/{prompt_digest}/{choice}")
        self._most = min(vocabulary, SPOKEN_IDS)
        self._tokens: list[int] = []

    def token(self, index: int) -> int:
        """The token at that place. Short words are the more frequent, as in a language."""
        tokens = self._tokens
        while len(tokens) <= index:
            share = self._dice.uniform()
            tokens.append(2 + int((self._most - 2) * share**4))
        return tokens[index]
