"""One cache of one layer on one rank: how large its page is, and how many pages one request may
need.

page:  | block_tokens tokens x heads x (K + V) |      one physical block of one layer
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from barostat.core.units import ceil_div

Kind = Literal["full", "latent", "window", "window-latent", "chunked", "state", "cross"]


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """One layer's cache as seen by the engine's KV manager.

    `block_tokens`: tokens a block of this layer covers. `page_bytes`: of one block, padding
    included. `reach_tokens`: window or chunk, 0 for none. `token_bytes`: page_bytes / block_tokens
    before padding (0 for states). `states`: blocks per request of a state, 0 for one per block of
    tokens. `retained_tokens`: kept behind a window for drafters that read ahead. `role` keeps apart
    layers that are alike in size but not in meaning.
    Source: vLLM 0.32.0, KVCacheSpec and its kinds.
    """

    kind: Kind
    block_tokens: int
    page_bytes: int
    reach_tokens: int = 0
    states: int = 1
    encoder_tokens: int = 0
    role: str = ""
    shape: tuple[int, ...] = ()
    retained_tokens: int = 0

    @property
    def base(self) -> str:
        """Layers of one base need the same number of blocks per request, whatever their page
        size.
        """
        match self.kind:
            case "full" | "latent":
                return "full"
            case "window" | "window-latent" | "chunked":
                return f"{self.kind} {self.reach_tokens}"
            case "state":
                return f"state {self.states} {self.page_bytes}"
            case _:
                return self.kind

    def blocks_per_request(self, in_flight_tokens: int, dcp: int, length_tokens: int) -> int:
        """Most blocks that one request of `length_tokens` can hold: the admission bound, and the
        start-up check's.

        Source: vLLM 0.32.0, max_memory_usage_bytes and max_admission_blocks_per_request of each
        spec.
        """
        match self.kind:
            case "full" | "latent":
                return ceil_div(ceil_div(length_tokens, dcp), self.block_tokens)
            case "window" | "window-latent":
                held = self.reach_tokens - 1 + self.retained_tokens + in_flight_tokens
                return ceil_div(min(held, length_tokens), self.block_tokens) + 1
            case "chunked":
                return ceil_div(
                    min(self.reach_tokens + in_flight_tokens, length_tokens), self.block_tokens
                )
            case "state":
                return self.states or ceil_div(length_tokens, self.block_tokens)
            case "cross":
                return ceil_div(self.encoder_tokens, self.block_tokens)

    def settled_blocks(self, length_tokens: int) -> int:
        """Blocks that a decoding request of `length_tokens` really holds, once its prefill is
        over.
        """
        match self.kind:
            case "window" | "window-latent":
                return min(
                    ceil_div(length_tokens, self.block_tokens),
                    ceil_div(self.reach_tokens, self.block_tokens) + 1,
                )
            case "chunked":
                return ceil_div(min(self.reach_tokens, length_tokens), self.block_tokens)
            case "state":
                return 1 if self.states else ceil_div(length_tokens, self.block_tokens)
            case "cross":
                return ceil_div(self.encoder_tokens, self.block_tokens)
            case _:
                return ceil_div(length_tokens, self.block_tokens)

    def with_block(self, block_tokens: int) -> LayerSpec:
        """The same layer with larger blocks; the page grows in step."""
        return replace(
            self,
            block_tokens=block_tokens,
            page_bytes=self.page_bytes * block_tokens // self.block_tokens,
        )

    def padded(self, page_bytes: int) -> LayerSpec:
        """The same layer with its page padded."""
        return replace(self, page_bytes=page_bytes)

    def as_full(self, block_tokens: int) -> LayerSpec:
        """The same layer when the hybrid manager is off: blocks for every token."""
        kind: Kind = "latent" if self.kind == "window-latent" else "full"
        return replace(self.with_block(block_tokens), kind=kind, reach_tokens=0, retained_tokens=0)
