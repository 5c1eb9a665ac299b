"""Which blocks hold the same tokens: a key per hash block, equal exactly where the whole prefix up
to its end is equal.
"""

from __future__ import annotations

from collections.abc import Sequence

# Each request's own blocks (tail of the prompt, generated tokens) have keys of their own range;
# shared ones are negative.
_OWN = 1 << 32


class Contents:
    """Every prompt seen so far, as chains of keys. Two requests share a prefix exactly as far as
    their keys are equal.
    """

    def __init__(self, hash_tokens: int) -> None:
        self.hash_tokens = hash_tokens
        self._chains: dict[tuple[int, object], int] = {}
        self._requests = 0

    def own(self) -> int:
        """The first key of a range that no other request has: block i's key is this plus i."""
        self._requests += 1
        return self._requests * _OWN

    def of_tokens(self, tokens: Sequence[int], adapter: str | None = None) -> tuple[int, ...]:
        """The keys of the full blocks of a prompt given as token ids. No two adapters share any."""
        size = self.hash_tokens
        return self._chain(
            [
                tuple(tokens[start : start + size])
                for start in range(0, len(tokens) - size + 1, size)
            ],
            adapter,
        )

    def of_hash_ids(
        self,
        hash_ids: Sequence[int],
        id_tokens: int,
        input_tokens: int,
        adapter: str | None = None,
    ) -> tuple[int, ...]:
        """The keys of the full blocks of a prompt given as ids of blocks of `id_tokens` each;
        content without an id is not shared.

        Equal ids mean equal tokens, so that a block of ours is named by the pieces of theirs that
        it is made of.
        """
        size = self.hash_tokens
        covered = min(len(hash_ids) * id_tokens, input_tokens) // size
        if id_tokens % size == 0:
            per_id = id_tokens // size
            return self._chain(
                [(hash_ids[index // per_id], index % per_id) for index in range(covered)],
                adapter,
            )
        return self._chain(
            [
                pieces(hash_ids, id_tokens, index * size, (index + 1) * size)
                for index in range(covered)
            ],
            adapter,
        )

    def _chain(self, blocks: Sequence[object], adapter: str | None) -> tuple[int, ...]:
        chains, parent, keys = self._chains, 0, []
        if adapter is not None:
            parent = chains.setdefault((0, adapter), -len(chains) - 1)
        for block in blocks:
            parent = chains.setdefault((parent, block), -len(chains) - 1)
            keys.append(parent)
        return tuple(keys)


def pieces(
    hash_ids: Sequence[int], id_tokens: int, start: int, end: int
) -> tuple[tuple[int, int, int], ...]:
    """The parts of the ids' blocks that the tokens start..end are made of: (id, first token in it,
    tokens).
    """
    pieces = []
    while start < end:
        index, offset = divmod(start, id_tokens)
        length = min(id_tokens - offset, end - start)
        pieces.append((hash_ids[index], offset, length))
        start += length
    return tuple(pieces)
