"""Upper bound and estimate of a body's number of tokens. The bound needs no learning; the estimate
is learned from this traffic.

The bound is the number of bytes of the JSON body, plus what a chat template adds. Why that is one:
a tokenizer whose smallest tokens are bytes (byte-level BPE as of GPT, Llama 3, Qwen, DeepSeek;
SentencePiece with byte fallback as of Llama 2, Gemma, Mistral) makes each token from at least one
byte of the text, so a text has at most as many tokens as UTF-8 bytes; JSON never writes a text with
fewer bytes than it has. Four things add tokens. The template, for each message (about 5; the JSON
around a message is longer than that) and once (a preamble, the generation prompt, the preamble for
tools). The white space with which some templates indent tools. A normaliser: NFC, as Qwen has it,
makes UTF-8 at most three times as long (Unicode Annex 15), and only of what is not ASCII; NFKC can
do more, and no byte-level tokenizer of a chat model that vLLM serves uses it. And pictures: 16,384
each, which is the most that common models make of one. Of other media, and of what a template may
repeat, no bound is known: `Shape.unbounded`. What `usage` shows above the bound raises it, once a
second request confirms it, and decays.

The estimate is the recent tokens per byte from `usage`, by route, times the bytes, plus the recent
tokens per media item. What is learned is of one tokenizer (`admit/input_sizes.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from barostat.admit.input_sizes import InputSizes
from barostat.gateway.messages.routes import Route
from barostat.gateway.messages.shape import Shape
from barostat.gateway.messages.token_density import dense_tokens

PREAMBLE_TOKENS = 96
TOOLS_PREAMBLE_TOKENS = 512
MESSAGE_TOKENS = 4
PICTURE_TOKENS = 16_384
NORMALISED = 3
_OF_A_TEMPLATE: frozenset[Route] = frozenset({"batch", "score"})
"""Routes of several prompts, each of which the engine puts into a template."""
_SURELY = 2.0
"""Upper factor between a normal text and its estimate by characters."""


class TokenCounts:
    """The bound and the estimate, by what `usage` has taught about both: `sizes`, of the engines
    that an input is for.
    """

    __slots__ = ("sizes",)

    def __init__(self, sizes: InputSizes | None = None) -> None:
        self.sizes = InputSizes() if sizes is None else sizes

    def bound(self, shape: Shape) -> int:
        """Return what the input is at most, for the tokenizers above; of a shape that is
        `unbounded` it says nothing. Tighter where the shape is known to be plain.
        """
        if shape.prompt_ids:
            return shape.prompt_ids + 2 * shape.prompts
        return self._outside(shape) + self.sizes.added_tokens

    def _outside(self, shape: Shape) -> int:
        """The bound for a template that adds no more than usual."""
        text = shape.text_bytes if shape.plain else NORMALISED * shape.text_bytes
        preambles = shape.prompts if shape.route in _OF_A_TEMPLATE else 1
        tokens = text + PREAMBLE_TOKENS * preambles + MESSAGE_TOKENS * shape.messages
        tokens += PICTURE_TOKENS * shape.pictures
        return tokens + TOOLS_PREAMBLE_TOKENS + shape.indented_bytes if shape.tools else tokens

    def each(self, shape: Shape, bound: int) -> int:
        """Return what the longest of its prompts is at most. `bound`: that of all together."""
        if shape.prompts == 1:
            return bound
        if shape.prompt_ids:
            return shape.longest + 2
        return (
            (shape.longest if shape.plain else NORMALISED * shape.longest)
            + PREAMBLE_TOKENS
            + self.sizes.added_tokens
        )

    def estimate(self, shape: Shape) -> int:
        """Return the expected number of input tokens: the mean for this traffic."""
        if shape.prompt_ids:
            return shape.prompt_ids
        text = shape.text_bytes * self.sizes.of_a_byte(shape.route)
        return int(text + self.sizes.per_medium * shape.media) + 1

    def is_surely_below(
        self, limit: int, shape: Shape, body: bytes, below: Callable[[int], int]
    ) -> bool:
        """True if the text is below the limit by its characters, with a margin for texts that are
        written to have more tokens than they look. `below(n)` draws a whole number under `n`.

        Only once such estimates were held against counts of these engines.
        """
        if shape.route == "audio":  # its bytes are no text
            return False
        if shape.unbounded or shape.prompts > 1 or not self.sizes.trusts_density(below(1 << 16)):
            return False
        fixed = PREAMBLE_TOKENS + self.sizes.added_tokens + PICTURE_TOKENS * shape.pictures
        if fixed > limit:
            return False
        dense = dense_tokens(body, below)
        return fixed + _SURELY * self.sizes.density * dense <= limit

    def was_counted(
        self, shape: Shape, body: bytes, tokens: int, below: Callable[[int], int]
    ) -> None:
        """Learn how far estimates by characters are off, from a count by the engine."""
        if not shape.media and shape.prompts == 1 and not shape.prompt_ids:
            self.sizes.counted(tokens - PREAMBLE_TOKENS, dense_tokens(body, below))

    def bound_of_text(self, text: str) -> int:
        """Return what one prompt is at most."""
        return (
            (len(text) if text.isascii() else NORMALISED * len(text.encode()))
            + PREAMBLE_TOKENS
            + self.sizes.added_tokens
        )

    def estimate_of_text(self, route: Route, text: str) -> int:
        """Return what one prompt will be."""
        return int(len(text) * self.sizes.of_a_byte(route)) + 1

    def learn(self, shape: Shape, prompt_tokens: int) -> bool:
        """Learn from the engine how many tokens this input was. True if that is above the bound
        that it was admitted by.
        """
        if shape.prompt_ids or shape.text_bytes <= 0 or prompt_tokens <= 0:
            return False
        bound = self.bound(shape)
        if not shape.unbounded and not shape.pictures:
            self.sizes.added(prompt_tokens - self._outside(shape))
        self.sizes.learn(shape.route, shape.text_bytes, shape.media, prompt_tokens)
        return not shape.unbounded and prompt_tokens > (shape.bound or bound)
