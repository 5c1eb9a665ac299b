"""Layers -> groups that share block tables, as vLLM makes them.

    10 full + 52 window layers, g = 10:     all draw blocks from one pool; a block id belongs to one group at a time
    | full x10 | win x9 | win x9 | win x9 | win x9 | win x8 | win x8 |       one block = g pages

Source: vLLM 0.32.0, get_kv_cache_groups and what it calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from barostat.core.errors import InputError
from barostat.kv.deployment import Deployment
from barostat.kv.layer_spec import LayerSpec

Named = tuple[str, LayerSpec]

# Above this ratio of the largest to the smallest count, groups take the smallest count. Source:
# vLLM 0.32.0.
_PAD_UP_BELOW = 1.5

# Since this version pages of different sizes lie side by side in a block; before, each size had a
# pool of its own per layer of the widest group, and windows were padded to the latents' sizes.
# Source: vLLM's pull request 48993.
DENSE_SINCE = "0.27.0"


@dataclass(frozen=True, slots=True)
class Group:
    """Layers with one block table. `layers`: name and cache of each. `kinds`: the different caches.
    `page_bytes`: of one block, all layers.
    """

    layers: tuple[Named, ...]
    kinds: tuple[LayerSpec, ...] = field(init=False, compare=False)
    page_bytes: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple({spec for _, spec in self.layers}))
        object.__setattr__(self, "page_bytes", sum(spec.page_bytes for _, spec in self.layers))

    def blocks_per_request(self, in_flight_tokens: int, dcp: int, length_tokens: int) -> int:
        """Most blocks of this group that one request can hold; as many for every layer of it."""
        return max(
            spec.blocks_per_request(in_flight_tokens, dcp, length_tokens) for spec in self.kinds
        )

    @property
    def block_tokens(self) -> int:
        """Tokens per block."""
        return self.layers[0][1].block_tokens

    def on(self, names: frozenset[str]) -> Group | None:
        """The part of this group that one pipeline stage holds, or None for nothing."""
        kept = tuple(layer for layer in self.layers if layer[0] in names)
        return Group(kept) if kept else None


def group_layers(layers: list[Named], flags: Deployment) -> list[Group]:
    """Every layer in exactly one group.

    Errors: InputError where the pages of different kinds cannot be made equal (as the engine would
    refuse to start).
    """
    if not layers:
        return []
    if not flags.hybrid_manager or flags.version.before("0.9.1") or flags.generation == "V0":
        layers = promote_to_full(layers)
    if _is_uniform(layers):
        return [Group(tuple(layers))]
    if any(spec.role == "compressor" for _, spec in layers):
        return _packed_groups(
            _in_latent_pages(layers) if flags.version.before(DENSE_SINCE) else layers
        )
    try:
        equal = _equal_pages(layers)
    except InputError:
        if (whole := _all_as_full(layers, flags)) is None:
            raise
        return [Group(tuple(whole))]
    return _equal_page_groups(equal)


def _all_as_full(layers: list[Named], flags: Deployment) -> list[Named] | None:
    """Latents beside windows of another shape (a drafter's, say), the windows kept as full
    attention; None if that does not help.

    Source: vLLM 0.32.0, _try_get_full_allocation_fallback_groups.
    """
    kinds = {spec.kind for _, spec in layers}
    if (
        flags.version.before("0.32.0")
        or not {"latent", "window"} <= kinds
        or kinds & {"window-latent", "chunked"}
    ):
        return None
    promoted = promote_to_full(layers)
    return promoted if _is_uniform(promoted) else None


def promote_to_full(layers: list[Named]) -> list[Named]:
    """Windows and chunks as full attention, where full attention is there too: what the engine
    allocates without the hybrid manager.
    """
    full = [spec for _, spec in layers if spec.kind in ("full", "latent")]
    if not full:
        return layers
    block = full[0].block_tokens
    return [
        (name, spec.as_full(block) if spec.kind in ("window", "window-latent", "chunked") else spec)
        for name, spec in layers
    ]


def _is_uniform(layers: list[Named]) -> bool:
    return len({(spec.base, spec.block_tokens) for _, spec in layers}) == 1


def _equal_pages(layers: list[Named]) -> list[Named]:
    """All pages as large as the largest: by larger blocks where they divide, by padding where they
    do not.
    """
    if empty := [name for name, spec in layers if spec.page_bytes <= 0]:
        raise InputError(
            "the cache of this layer would take no bytes: its heads or dimensions are 0", empty[0]
        )
    largest = max(spec.page_bytes for _, spec in layers)
    equal: list[Named] = []
    for name, spec in layers:
        if spec.page_bytes == largest:
            equal.append((name, spec))
        elif spec.kind == "state":
            equal.append((name, spec.padded(largest)))
        elif largest % spec.page_bytes == 0:
            equal.append((name, spec.with_block(spec.block_tokens * (largest // spec.page_bytes))))
        elif spec.kind != "latent":
            equal.append((name, spec.padded(largest)))
        else:
            raise InputError(
                "the latent layers' page does not divide the largest page, and the engine "
                "cannot pad it: it would refuse to start",
                name,
            )
    return equal


def _equal_page_groups(layers: list[Named]) -> list[Group]:
    """Groups of g layers of one kind; g is the smallest kind's count, or the largest's where they
    are close.
    """
    buckets: dict[tuple[object, ...], list[Named]] = defaultdict(list)
    for name, spec in layers:
        key = (
            spec.kind,
            spec.reach_tokens,
            spec.states,
            spec.page_bytes,
            spec.block_tokens,
            spec.role,
            spec.shape,
            spec.encoder_tokens,
        )
        buckets[key].append((name, spec))
    counts = [len(bucket) for bucket in buckets.values()]
    size = max(counts) if max(counts) < _PAD_UP_BELOW * min(counts) else min(counts)
    groups: list[Group] = []
    for bucket in buckets.values():
        number = -(-len(bucket) // size)
        groups.extend(Group(tuple(bucket[i::number])) for i in range(number))
    return groups


def _packed_groups(layers: list[Named]) -> list[Group]:
    """Groups of layers with different pages side by side in a block (DeepSeek V4's block-outermost
    layout).

    Kinds whose page sizes repeat equally often are patterns; each is split into groups of about as
    many repeats as the largest mixed one has.
    """
    buckets: list[list[Named]] = []
    for name, spec in layers:
        for bucket in buckets:
            if (bucket[0][1].base, bucket[0][1].block_tokens) == (spec.base, spec.block_tokens):
                bucket.append((name, spec))
                break
        else:
            buckets.append([(name, spec)])
    shaped = [(bucket, _by_page(bucket)) for bucket in buckets]
    repeats = [max(map(len, pages.values())) for _, pages in shaped]
    balanced = [len({len(names) for names in pages.values()}) == 1 for _, pages in shaped]
    floor = max(
        (
            n
            for n, even, (_, pages) in zip(repeats, balanced, shaped, strict=True)
            if even and len(pages) > 1
        ),
        default=0,
    )
    per_group = (
        _least_padding([n for n, even in zip(repeats, balanced, strict=True) if even], floor)
        if floor
        else 0
    )
    wanted = [
        -(-n // per_group) if even and per_group else 1
        for n, even in zip(repeats, balanced, strict=True)
    ]
    anchor = _anchor_bytes(shaped, wanted, per_group)
    groups: list[Group] = []
    for (bucket, pages), number in zip(shaped, wanted, strict=True):
        split = number
        if anchor and not per_group and bucket[0][1].kind == "window":
            split = max(number, -(-len(bucket) // max(1, anchor // bucket[0][1].page_bytes)))
        if split == 1:
            groups.append(Group(tuple(bucket)))
            continue
        pattern = list(zip(*pages.values(), strict=False))
        groups.extend(
            Group(tuple(named for repeat in pattern[i::split] for named in repeat))
            for i in range(split)
        )
    return groups


def _in_latent_pages(layers: list[Named]) -> list[Named]:
    """Windows' pages padded to the next larger one of the latents."""
    sizes = sorted({spec.page_bytes for _, spec in layers if spec.kind == "latent"})
    padded: list[Named] = []
    for name, spec in layers:
        wider = next((size for size in sizes if size >= spec.page_bytes), spec.page_bytes)
        padded.append((name, spec.padded(wider) if spec.kind == "window-latent" else spec))
    return padded


def separate_pool_bytes(groups: tuple[Group, ...]) -> int:
    """Bytes of one block where every page size has pools of its own: as many as the group with most
    layers of that size.
    """
    counts: Counter[int] = Counter()
    for group in groups:
        counts |= Counter(spec.page_bytes for _, spec in group.layers)
    return sum(size * count for size, count in counts.items())


def tuple_bytes(groups: tuple[Group, ...]) -> int:
    """Bytes that the start-up check before 0.29 charged for a block: every page size of the
    latents, as often as any size repeats.
    """
    repeats = max(
        max(Counter(spec.page_bytes for _, spec in group.layers).values()) for group in groups
    )
    return repeats * sum(
        {spec.page_bytes for group in groups for _, spec in group.layers if spec.kind == "latent"}
    )


def _by_page(bucket: list[Named]) -> dict[int, list[Named]]:
    pages: dict[int, list[Named]] = defaultdict(list)
    for named in bucket:
        pages[named[1].page_bytes].append(named)
    return pages


def _anchor_bytes(
    shaped: list[tuple[list[Named], dict[int, list[Named]]]], wanted: list[int], per_group: int
) -> int:
    widest = 0
    for (bucket, pages), number in zip(shaped, wanted, strict=True):
        parts = len(bucket) if not per_group and bucket[0][1].kind == "window" else number
        widest = max(widest, sum(-(-len(names) // parts) * page for page, names in pages.items()))
    return widest


def _least_padding(values: list[int], lower_bound: int) -> int:
    """The chunk that wastes least when each value is rounded up to a multiple of it; the larger one
    of equals.
    """
    best, best_padding = lower_bound, -1
    for chunk in range(max(1, lower_bound), max(values) + 1):
        padding = sum(-value % chunk for value in values)
        if best_padding < 0 or padding <= best_padding:
            best, best_padding = chunk, padding
    return best
