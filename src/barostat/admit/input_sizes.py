"""What `usage` and counts have taught of inputs: the tokens in a byte of a body, by route, those of
a medium, what a template adds, and how far texts are above what their characters suggest.
"""

from __future__ import annotations

from barostat.admit.confirmed_peak import ConfirmedPeak

FIRST_TOKENS_PER_BYTE = 0.25
MEDIUM_TOKENS = 2048
MOST_ADDED_TOKENS = 8192
_LEAST_PER_BYTE, _MOST_PER_BYTE = 1 / 64, 3.0
_MOST_PER_MEDIUM = 1 << 17
_MOST_DENSITY = 16.0
_WEIGHT = 0.02
_FIRST_SAMPLES = 50
_ALL_OF_FIRST = 500
_THEN_EVERY = 8
_TRUSTED_COUNTS = 32
_RECOUNTED_EVERY = 16


class InputSizes:
    """Learned input sizes of one tokenizer, shared by engines that serve the same model. Mutable.

    `per_byte`: tokens, by route; `per_medium`: tokens of one. Everything that is learned is
    bounded and decays.
    """

    __slots__ = ("_added", "_density", "counts", "per_byte", "per_medium", "samples")

    def __init__(self) -> None:
        self.per_byte: dict[str, float] = {}
        self.samples: dict[str, int] = {}
        self.per_medium = float(MEDIUM_TOKENS)
        self.counts = 0
        self._added = ConfirmedPeak()
        self._density = ConfirmedPeak(1.0)

    @property
    def added_tokens(self) -> int:
        """Tokens that a template adds to every input, beyond what the bound has for it anyway."""
        return int(self._added.value)

    @property
    def density(self) -> float:
        """How many times its estimate by characters a text was at most."""
        return self._density.largest

    def of_a_byte(self, route: str) -> float:
        """Tokens in a byte of such a body."""
        return self.per_byte.get(route, FIRST_TOKENS_PER_BYTE)

    def added(self, tokens: int) -> None:
        """An input was so many tokens longer (below 0: shorter) than its bytes allow."""
        self._added.note(max(0, min(tokens, MOST_ADDED_TOKENS)))

    def counted(self, tokens: int, dense: float) -> None:
        """A text was counted, that was estimated by its characters."""
        self.counts += 1
        self._density.note(min(_MOST_DENSITY, tokens / max(dense, 1.0)))

    def trusts_density(self, draw: int) -> bool:
        """True if estimates by characters were held against enough counts. `draw`: any number; of
        one in sixteen a count is wanted all the same.
        """
        return self.counts >= _TRUSTED_COUNTS and draw % _RECOUNTED_EVERY != 0

    def learn(self, route: str, text_bytes: int, media: int, tokens: int) -> None:
        """A body of so many bytes and media was so many tokens."""
        if media:
            text = text_bytes * self.of_a_byte(route)
            each = min(_MOST_PER_MEDIUM, max(0.0, tokens - text) / media)
            self.per_medium += _WEIGHT * (each - self.per_medium)
            return
        seen = self.samples.get(route, 0) + 1
        self.samples[route] = seen
        if seen > _ALL_OF_FIRST and seen % _THEN_EVERY:
            return
        ratio = min(_MOST_PER_BYTE, max(_LEAST_PER_BYTE, tokens / text_bytes))
        before = self.per_byte.get(route, FIRST_TOKENS_PER_BYTE)
        weight = max(_WEIGHT, 1.0 / min(seen + 1, _FIRST_SAMPLES))
        self.per_byte[route] = before + weight * (ratio - before)
