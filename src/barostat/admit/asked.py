"""What a request asks for, as far as a decision needs it: sizes and names, never its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CountedAs = Literal["bound", "estimate", "exact"]
"""How the input's tokens are known. `bound`: never below the truth. `estimate`: learned from this
traffic. `exact`: the engine's own count, or as near as this gateway can come: a request is refused
for its length only by this one or where even the bound says so of no other.
"""


@dataclass
class AskedRequest:
    """One request as it arrived at `at` (seconds, any clock that only goes forward; the same for
    every call).

    `tenant`: by its key, "" if tenants are not distinguished. `route`: of a short list (`chat`,
    `completions`, `responses`, `messages`). `input_tokens`: the prompt, or all prompts of a list;
    `counted_as` says how it is known. `output_limit`: the stated max_tokens (or
    max_completion_tokens, max_output_tokens) of one sequence, None if it states none; 0 where
    nothing decodes (embeddings). `least_output_tokens`: its min_tokens. `prompts`: of a prompt
    list. `sequences`: what decodes at once: prompts x max(n, best_of). `priority`: as the engine
    has it, lower is more important. `prefix_key`: equal for requests that begin alike (0: unknown),
    for affinity. `class_key`: what else tells lengths apart (a model alias, thinking on or off, a
    tool call), of few values, "" for none. `not_on`: replicas that it may not go to: they do not
    serve its model, or just failed for it before anything was sent. `priority_class`: the class
    that it names, "" for that of its tenant.
    """

    at: float
    input_tokens: int
    counted_as: CountedAs = "estimate"
    output_limit: int | None = None
    tenant: str = ""
    route: str = ""
    class_key: str = ""
    least_output_tokens: int = 0
    prompts: int = 1
    sequences: int = 1
    priority: int = 0
    prefix_key: int = 0
    not_on: tuple[str, ...] = ()
    priority_class: str = ""

    @property
    def tokens_of_each(self) -> int:
        """Input tokens of one prompt of a list, on average."""
        return -(-self.input_tokens // self.prompts)

    @property
    def decodes(self) -> bool:
        """Tokens are made of it, and held until the last one."""
        return self.output_limit != 0
