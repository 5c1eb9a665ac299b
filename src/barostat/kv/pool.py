"""Available memory -> blocks, tokens, requests: what the engine would allocate and log."""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.units import ceil_div
from barostat.kv.architecture import Architecture
from barostat.kv.build_specs import layer_specs, resolved_block_tokens, stages
from barostat.kv.deployment import Deployment
from barostat.kv.groups import (
    DENSE_SINCE,
    Group,
    Named,
    group_layers,
    separate_pool_bytes,
    tuple_bytes,
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A model's KV cache under given flags, before memory is known.

    `groups`: over the whole model. `by_stage`: what each pipeline stage holds of each group (empty
    parts left out). `block_tokens`: the attention layers' block size.
    """

    groups: tuple[Group, ...]
    by_stage: tuple[tuple[Group, ...], ...]
    block_tokens: int
    flags: Deployment

    @property
    def block_bytes_by_stage(self) -> tuple[int, ...]:
        """Bytes that one block takes on one rank of each stage: the widest group's."""
        if self.is_packed and self.flags.version.before(DENSE_SINCE):
            return tuple(separate_pool_bytes(groups) for groups in self.by_stage)
        return tuple(
            max((group.page_bytes for group in groups), default=0) for groups in self.by_stage
        )

    @property
    def is_packed(self) -> bool:
        """True if layers with pages of different sizes share a block (DeepSeek V4)."""
        return any(spec.role == "compressor" for group in self.groups for spec in group.kinds)

    @property
    def charged_bytes(self) -> tuple[int, ...]:
        """Bytes of one block on each pipeline stage, as vLLM's start-up check computes them. Before
        0.15 each was charged the whole model (seen in 0.14).
        """
        if self.is_packed and self.flags.version.before("0.29.0"):
            return tuple(tuple_bytes(groups) if groups else 0 for groups in self.by_stage)
        whole = (
            sum(self.block_bytes_by_stage)
            if len(self.by_stage) > 1 and self.flags.version.before("0.15.0")
            else 0
        )
        return tuple(max(size, whole) for size in self.block_bytes_by_stage)

    @property
    def block_bytes(self) -> int:
        """Bytes that one block takes on the rank that needs most."""
        return max(self.block_bytes_by_stage, default=0)

    def blocks_per_request(self, length_tokens: int) -> int:
        """Most blocks that one request of this length can hold, over all groups."""
        in_flight = self.flags.in_flight_tokens
        return sum(
            group.blocks_per_request(in_flight, self.flags.dcp, length_tokens)
            for group in self.groups
        )

    def settled_blocks(self, length_tokens: int) -> int:
        """Blocks that a decoding request of this length really holds."""
        length = -(-length_tokens // self.flags.dcp)
        return sum(
            max(
                spec.settled_blocks(length if spec.kind in ("full", "latent") else length_tokens)
                for spec in group.kinds
            )
            for group in self.groups
        )

    @property
    def growing_bytes_per_token(self) -> float:
        """Bytes on one rank that each further token of a long sequence takes."""
        per_block = [
            group.block_tokens
            for group in self.groups
            if any(spec.kind in ("full", "latent") for _, spec in group.layers)
        ]
        return sum(self.block_bytes / (tokens * self.flags.dcp) for tokens in per_block)


@dataclass(frozen=True, slots=True)
class Pool:
    """The KV pool that the engine allocates and logs.

    `tokens`: as this version logs it. `concurrency`: for the model length. `needed_bytes`: of the
    start-up check, against `available_bytes`. `longest_tokens`: the largest model length that
    passes the check.
    """

    blocks: int
    block_tokens: int
    tokens: int
    concurrency: float
    fits: bool
    needed_bytes: int
    available_bytes: int
    longest_tokens: int


def lay_out(model: Architecture, flags: Deployment) -> Layout:
    """The groups of this model under these flags.

    Errors: InputError where the engine would refuse the combination.
    """
    block_tokens, state_page = resolved_block_tokens(model, flags)
    specs = {
        layer: layer_specs(layer, flags, block_tokens, state_page)
        for layer in {*model.layers, *flags.draft}
    }
    named: list[Named] = []
    stage_names: list[frozenset[str]] = []
    for stage in stages(len(model.layers), flags.pp):
        names: list[str] = []
        for index in stage:
            for number, spec in enumerate(specs[model.layers[index]]):
                names.append(f"layer {index} cache {number}")
                named.append((names[-1], spec))
        if stage.stop == len(model.layers):
            for draft, layer in enumerate(flags.draft):
                for number, spec in enumerate(specs[layer]):
                    names.append(f"draft {draft} cache {number}")
                    named.append((names[-1], spec))
        stage_names.append(frozenset(names))
    groups = tuple(group_layers(named, flags))
    by_stage = tuple(
        tuple(part for group in groups if (part := group.on(names)) is not None)
        for names in stage_names
    )
    return Layout(groups, by_stage, block_tokens, flags)


def fill(
    layout: Layout, available_bytes: int | list[int], max_model_len: int | None = None
) -> Pool:
    """The pool that this much memory per GPU gives.

    `available_bytes`: of every rank, or one number per pipeline stage.
    """
    flags = layout.flags
    length = max_model_len or flags.max_model_len
    per_stage = (
        available_bytes
        if isinstance(available_bytes, list)
        else [available_bytes] * len(layout.by_stage)
    )
    sizes = layout.block_bytes_by_stage
    counted = [
        max(0, available) // size for available, size in zip(per_stage, sizes, strict=True) if size
    ]
    if not counted:  # attention-free: nothing grows
        return Pool(1, layout.block_tokens, 0, float("inf"), True, 0, min(per_stage), length)
    override = flags.num_gpu_blocks_override
    blocks = min(counted) if override is None else override
    checked = _checked_bytes(layout, per_stage, blocks)
    needed = _needed_bytes(layout, length)
    per_request = layout.blocks_per_request(length)
    tight = min(range(len(checked)), key=lambda i: checked[i] - needed[i])
    concurrency = _concurrency(layout, blocks, per_request, length)
    return Pool(
        blocks=blocks,
        block_tokens=layout.block_tokens,
        tokens=_logged_tokens(layout, blocks, concurrency, length),
        concurrency=concurrency,
        fits=checked[tight] > 0 and needed[tight] <= checked[tight],
        needed_bytes=needed[tight],
        available_bytes=checked[tight],
        longest_tokens=_longest(layout, checked, length),
    )


def _checked_bytes(layout: Layout, per_stage: list[int], blocks: int) -> list[int]:
    """The memory that the start-up check counts on: the override's since 0.21.0, less the null
    block since 0.29.0.
    """
    flags = layout.flags
    checked = []
    for available, size in zip(per_stage, layout.block_bytes_by_stage, strict=True):
        memory = (
            blocks * size
            if flags.num_gpu_blocks_override is not None and flags.version.at_least("0.21.0")
            else available
        )
        checked.append(memory - size if flags.version.at_least("0.29.0") else memory)
    return checked


def _needed_bytes(layout: Layout, length: int) -> list[int]:
    """Bytes that one request of this length needs on each stage."""
    per_request = layout.blocks_per_request(length)
    return [per_request * size for size in layout.charged_bytes]


def _longest(layout: Layout, checked: list[int], at_most: int) -> int:
    """The largest length up to `at_most` that the check passes, 0 for none. Longer never needs
    less, so halving finds it.
    """
    charged = layout.charged_bytes
    most_blocks = min(memory // size for memory, size in zip(checked, charged, strict=True) if size)
    if layout.blocks_per_request(at_most) <= most_blocks:
        return at_most
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        if layout.blocks_per_request(middle) <= most_blocks:
            low = middle
        else:
            high = middle - 1
    return low


def _concurrency(layout: Layout, blocks: int, per_request: int, length: int) -> float:
    """Requests of the model's length that fit. Until the hybrid manager came (0.9.1) it was tokens
    over length.
    """
    if layout.flags.generation == "V0" or layout.flags.version.before("0.9.1"):
        return blocks * layout.block_tokens / length if length else 0.0
    if layout.is_packed and layout.flags.version.before(DENSE_SINCE):
        in_flight, dcp = layout.flags.in_flight_tokens, layout.flags.dcp
        needed = sum(
            group.page_bytes * group.blocks_per_request(in_flight, dcp, length)
            for group in layout.groups
        )
        main = next(
            (
                group
                for group in layout.groups
                if all(spec.kind == "latent" for spec in group.kinds)
            ),
            layout.groups[0],
        )
        per_request = ceil_div(needed, main.page_bytes)
    return blocks / per_request if per_request else float("inf")


def _logged_tokens(layout: Layout, blocks: int, concurrency: float, length: int) -> int:
    """The KV cache size that this version logs: since 0.20.1 concurrency times length, before
    blocks times block size.
    """
    flags = layout.flags
    if flags.logs_tokens_of_requests:
        return int(concurrency * length)
    smallest = min(group.block_tokens for group in layout.groups)
    return blocks // len(layout.groups) * smallest * flags.dcp
