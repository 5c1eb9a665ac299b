"""What `usage` has taught of inputs: the tokens in a byte of a body, by route, those of a medium,
and what a template adds.
"""

from __future__ import annotations

FIRST_TOKENS_PER_BYTE = 0.25
MEDIA_TOKENS = 2048
_MOST_ADDED = 1 << 16
_WEIGHT = 0.02
_FIRST_SAMPLES = 50
_ALL_OF_FIRST = 500
_THEN_EVERY = 8


class InputSizes:
    """Of one tokenizer: of engines that serve the same. Mutable. `spread`: how far bodies of a
    route were from `per_byte`, over `samples`.

    `added_tokens`, `media_tokens`: what a bound adds once, and for each medium; `per_medium`: what
    one was, on average.
    """

    __slots__ = ("added_tokens", "media_tokens", "per_byte", "per_medium", "samples", "spread")

    def __init__(self) -> None:
        self.per_byte: dict[str, float] = {}
        self.spread: dict[str, float] = {}
        self.samples: dict[str, int] = {}
        self.added_tokens = 0
        self.media_tokens = MEDIA_TOKENS
        self.per_medium = float(MEDIA_TOKENS)

    def of_a_byte(self, route: str) -> float:
        """Tokens in a byte of such a body."""
        return self.per_byte.get(route, FIRST_TOKENS_PER_BYTE)

    def above_the_bound(self, media: int, tokens: int) -> None:
        """An input with so many media was by so many tokens above what was taken to be the most."""
        if media:
            self.media_tokens = min(self.media_tokens - (-tokens // media), _MOST_ADDED)
        else:
            self.added_tokens = min(self.added_tokens + tokens, _MOST_ADDED)

    def learn(self, route: str, text_bytes: int, media: int, tokens: int) -> None:
        """A body of so many bytes and media was so many tokens."""
        if media:
            text = text_bytes * self.of_a_byte(route)
            self.per_medium += _WEIGHT * (max(0.0, tokens - text) / media - self.per_medium)
            return
        seen = self.samples.get(route, 0) + 1
        self.samples[route] = seen
        if seen > _ALL_OF_FIRST and seen % _THEN_EVERY:
            return
        ratio = tokens / text_bytes
        before = self.per_byte.get(route, ratio)
        weight = max(_WEIGHT, 1.0 / min(seen, _FIRST_SAMPLES))
        self.per_byte[route] = before + weight * (ratio - before)
        self.spread[route] = (1 - weight) * self.spread.get(route, 0.0) + weight * abs(
            ratio - before
        )
