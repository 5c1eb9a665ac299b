"""How many tokens a body can be at most, and how many it will be: a bound for nothing, and an
estimate that this traffic has taught.

The bound is the number of bytes of the JSON body, plus what a chat template adds. Why that is one:
a tokenizer whose smallest tokens are bytes (byte-level BPE as of GPT, Llama 3, Qwen, DeepSeek;
SentencePiece with byte fallback as of Llama 2, Gemma, Mistral) makes each token from at least one
byte of the text, so a text has at most as many tokens as UTF-8 bytes; JSON never writes a text with
fewer bytes than it has. Three things add tokens. The template, for each message (about 5; the JSON
around a message is longer than that) and once (a preamble, the generation prompt, the preamble for
tools; tools are written with indentation by some). A normaliser: NFC, as Qwen has it, makes UTF-8
at most three times as long (Unicode Annex 15), and only of what is not ASCII; NFKC can do more, and
no byte-level tokenizer of a chat model that vLLM serves uses it. And images, audio and video, which
are not text: a number each. A `usage` above the bound raises what is added once, or that number
where there are such, and is counted.

The estimate is the tokens per byte that `usage` told lately, by route, times the bytes, and what it
told of a medium. What is learned is of one tokenizer (`admit/input_sizes.py`).
"""

from __future__ import annotations

from barostat.admit.input_sizes import FIRST_TOKENS_PER_BYTE, InputSizes
from barostat.gateway.messages.routes import Route, Shape

PREAMBLE_TOKENS = 96
TOOLS_PREAMBLE_TOKENS = 512
MESSAGE_TOKENS = 4
TOOLS_INDENTED = 2
NORMALISED = 3
_SAMPLED_BYTES = 1024
_LETTERS_OF_ONE = 4
_WIDE_TOKENS = 0.5
_LETTERS = bytes((*range(65, 91), *range(97, 123)))
_WIDE = bytes(range(128, 256))
_NOT_MARKS = _WIDE + b" \n"


def tokens_per_byte_of(text: bytes) -> float:
    """As dense as tokens come in text with these characters, by a sample of them: a word at least
    one, each four letters one, each digit and mark one, a letter that is not ASCII (two to four
    bytes) up to two.
    """
    sample = text[:: len(text) // _SAMPLED_BYTES | 1]
    if not sample:
        return 0.0
    rest = sample.translate(None, _LETTERS)
    words = rest.count(b" ") + rest.count(b"\n")
    marks = len(rest.translate(None, _NOT_MARKS))
    wide = len(sample) - len(sample.translate(None, _WIDE))
    letters = len(sample) - len(rest)
    return (max(letters / _LETTERS_OF_ONE, words) + marks + _WIDE_TOKENS * wide) / len(sample)


class TokenCounts:
    """The bound and the estimate, by what `usage` has taught about both: `sizes`, of the engines
    that an input is for.
    """

    __slots__ = ("sizes",)

    def __init__(self, sizes: InputSizes | None = None) -> None:
        self.sizes = InputSizes() if sizes is None else sizes

    def bound(self, shape: Shape) -> int:
        """Never below the truth, for the tokenizers above. Tighter where the shape is known to be
        plain.
        """
        if shape.prompt_ids:
            return shape.prompt_ids + 2 * shape.prompts
        text = shape.text_bytes if shape.plain else NORMALISED * shape.text_bytes
        tokens = text + PREAMBLE_TOKENS + MESSAGE_TOKENS * shape.messages + self.sizes.added_tokens
        if shape.media:
            tokens += self.sizes.media_tokens * shape.media
        if shape.tools:
            tokens += (TOOLS_INDENTED - 1) * text + TOOLS_PREAMBLE_TOKENS
        return tokens

    def each(self, shape: Shape, bound: int) -> int:
        """Never below the longest of its prompts. `bound`: that of all together."""
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
        """What it will be, as far as this traffic tells: the mean."""
        if shape.prompt_ids:
            return shape.prompt_ids
        return self._reckoned(shape, self.sizes.of_a_byte(shape.route))

    def careful_estimate(self, shape: Shape, body: bytes) -> int:
        """The same for a limit: never less than text commonly is, nor than text of these
        characters. Short bodies are mostly JSON, and teach too few tokens for a byte; of digits or
        single letters each is a token.
        """
        if shape.prompt_ids:
            return shape.prompt_ids
        learned = self.sizes.of_a_byte(shape.route)
        return self._reckoned(shape, max(learned, FIRST_TOKENS_PER_BYTE, tokens_per_byte_of(body)))

    def _reckoned(self, shape: Shape, per_byte: float) -> int:
        return int(shape.text_bytes * per_byte + self.sizes.per_medium * shape.media) + 1

    def bound_of_text(self, text: str) -> int:
        """Never below the truth of one prompt."""
        return (
            (len(text) if text.isascii() else NORMALISED * len(text.encode()))
            + PREAMBLE_TOKENS
            + self.sizes.added_tokens
        )

    def estimate_of_text(self, route: Route, text: str) -> int:
        """What one prompt will be."""
        return int(len(text) * self.sizes.of_a_byte(route)) + 1

    def learn(self, shape: Shape, prompt_tokens: int) -> bool:
        """`usage` said how many tokens this one was. True if that is above the bound that it was
        admitted by.
        """
        if shape.prompt_ids or shape.text_bytes <= 0 or prompt_tokens <= 0:
            return False
        bound = self.bound(
            shape
        )  # as these engines have it by now, which need not be what it was admitted by
        if prompt_tokens > bound:
            self.sizes.above_the_bound(shape.media, prompt_tokens - bound)
        self.sizes.learn(shape.route, shape.text_bytes, shape.media, prompt_tokens)
        return prompt_tokens > (shape.bound or bound)
