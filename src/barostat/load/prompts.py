"""Prompts of a stated number of tokens that nobody wrote: token ids, or words counted by what the
engine makes of them.

No two share a prefix, in this run or an earlier one, unless the workload says that they do
(`hash_ids`, `prompt_token_ids`).
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.twin.request import Row
from barostat.twin.workload.words import word

FIRST_ID, IDS = 1000, 1000
"""Ids that every vocabulary has as plain tokens: above bytes and reserved ones (Mistral keeps
1,000), below the size of any.
"""
_RING = 1 << 16
_UNIQUE = 6
_WITHIN_BLOCK = 4
_STRIDE = 7919
_SALTED = 1_000_003_000


@dataclass(frozen=True, slots=True)
class WordCount:
    """Tokens per prompt of words: `fixed` for the template, plus a number per word."""

    fixed: float
    per_word: float

    def words(self, tokens: int) -> int:
        """How many words make a prompt of that many tokens."""
        return max(1, round((tokens - self.fixed) / self.per_word))


class Prompts:
    """Makes the prompt of the n-th request as JSON. `salt`: another one in each run."""

    def __init__(self, salt: int, counted: WordCount | None = None) -> None:
        """Nothing is made yet. `counted`: prompts are words, not ids."""
        self._salt = salt
        self._counted = counted
        ids = [FIRST_ID + (place * _STRIDE + (place * place >> 7)) % IDS for place in range(_RING)]
        pieces = [word(token) if counted else str(token) for token in ids]
        self._width = (
            5 if counted is None else len(pieces[0])
        )  # ids of four digits with a comma; words of four letters with a space
        if any(len(piece) + (counted is None) != self._width for piece in pieces):
            raise AssertionError("pieces of one width")
        ring = ("," if counted is None else "").join(pieces) + ("," if counted is None else "")
        self._ring = (ring + ring).encode()

    def of(self, row: Row, number: int) -> bytes:
        """The prompt of that row, as JSON: a list of ids, or a string."""
        if row.prompt_token_ids is not None and self._counted is None:
            return b"[%b]" % ",".join(map(str, row.prompt_token_ids)).encode()
        pieces = (
            row.input_tokens if self._counted is None else self._counted.words(row.input_tokens)
        )
        text = self._shared(row, pieces, number) if row.hash_ids else self._own(pieces, number)
        return b"[%b]" % text[:-1] if self._counted is None else b'"%b"' % text

    def _own(self, pieces: int, number: int) -> bytes:
        """Return this many pieces with a unique beginning."""
        begun = self._numbered((self._salt << 32) + number, min(_UNIQUE, pieces))
        return begun + self._filled(pieces - min(_UNIQUE, pieces), number * _STRIDE)

    def _shared(self, row: Row, pieces: int, number: int) -> bytes:
        """Return the blocks shared by id, then the request's own pieces."""
        each = row.id_tokens or 16
        parts: list[bytes] = []
        left = pieces
        for block in row.hash_ids or ():
            size = min(each, left)
            if size <= _WITHIN_BLOCK:
                break
            parts += (
                self._numbered(self._salt * _SALTED + block, _WITHIN_BLOCK),
                self._filled(size - _WITHIN_BLOCK, block * _STRIDE),
            )
            left -= size
        return b"".join((*parts, self._own(left, number))) if left else b"".join(parts)

    def _numbered(self, value: int, digits: int) -> bytes:
        """The number in so many pieces, its last digits first."""
        found = []
        for _ in range(digits):
            value, rest = divmod(value, IDS)
            found.append(
                b"%d," % (FIRST_ID + rest)
                if self._counted is None
                else word(FIRST_ID + rest).encode()
            )
        return b"".join(found)

    def _filled(self, count: int, place: int) -> bytes:
        start = place % _RING * self._width
        made = self._ring[start : start + min(count, _RING) * self._width]
        return made if count <= _RING else made + self._filled(count - _RING, place + _RING)
