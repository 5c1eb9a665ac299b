"""What the scheduler is configured with, and how its version decides: everything that a decision
may depend on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from barostat.catalog.settings.defaults import BLOCK_TOKENS, SMALL_CARD_SEQS, SMALL_CARD_STEP_TOKENS
from barostat.catalog.settings.table import SETTINGS
from barostat.catalog.vllm_behaviours import behaves
from barostat.catalog.vllm_versions import DEFAULT_VERSION, NEWEST_READ, OLDEST_SIMULATED
from barostat.core.errors import InputError
from barostat.core.units import ceil_div
from barostat.core.version import EngineVersion, parse_version

if TYPE_CHECKING:
    from barostat.twin.drafting import Drafting

Policy = Literal["fcfs", "priority"]
State = Literal["", "all", "align"]
KvRole = Literal["", "kv_producer", "kv_consumer", "kv_both"]
_LARGEST = 2**31 - 1
_MOST_BLOCKS = 50_000_000  # ten times what the largest node holds; each is a place in an array


@dataclass(frozen=True, slots=True)
class KvGroup:
    """Layers that share a block table: full attention, unless it has a sliding window, local
    chunks, or states.

    `state`: of a request's recurrent state there is one per block (`all`), or one that moves on and
    stays behind where others may resume (`align`). A state that is not cached at all (`none`) is
    one block of max_model_len tokens, as full attention has it.
    Source: vLLM 0.32.0, SlidingWindowSpec, ChunkedLocalAttentionSpec, MambaSpec (mamba_cache_mode).
    """

    block_tokens: int
    window_tokens: int | None = None
    chunk_tokens: int | None = None
    state: State = ""

    @property
    def is_full(self) -> bool:
        """True if every token's block stays to the end."""
        return self.window_tokens is None and self.chunk_tokens is None and not self.state

    def skipped_tokens(self, computed_tokens: int) -> int:
        """Tokens from the start that the next token to compute does not look at."""
        if self.window_tokens is not None:
            return max(0, computed_tokens - self.window_tokens + 1)
        if self.chunk_tokens is not None:
            return computed_tokens // self.chunk_tokens * self.chunk_tokens
        return max(0, computed_tokens - 1) if self.state else 0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The decisions that changed between versions, one switch each; since when, and what each
    means: `catalog/vllm_behaviours.py`.
    """

    full_sequence_gate: bool = True
    window_admission_cap: bool = True
    unhashed_reused_first: bool = True
    watermark: bool = True
    window_freed_when_processed: bool = True
    sparse_window_cache: bool = True
    queue_limits: bool = True
    active_limit: bool = True
    lone_request_unthrottled: bool = True
    output_clamped: bool = True
    self_preempted_skips_on: bool = False

    @classmethod
    def of(cls, version: EngineVersion) -> Behaviour:
        """Return the scheduler behaviour of a vLLM version."""

        def has(name: str) -> bool:
            return behaves(name, version) is True

        return cls(
            full_sequence_gate=has("full-sequence-admission"),
            window_admission_cap=has("window-admission-cap"),
            unhashed_reused_first=has("unhashed-blocks-reused-first"),
            watermark=has("admission-watermark"),
            window_freed_when_processed=has("window-freed-when-processed"),
            sparse_window_cache=has("sparse-window-cache"),
            queue_limits=has("queue-limits"),
            active_limit=has("active-sequence-limit"),
            lone_request_unthrottled=has("lone-request-unthrottled"),
            output_clamped=has("output-clamped-to-context"),
            self_preempted_skips_on=has("self-preempted-skips-on"),
        )


_NEEDED = {
    "watermark_ratio": "watermark",
    "max_num_active_seqs": "active_limit",
    "max_queued_requests": "queue_limits",
    "max_queued_tokens": "queue_limits",
}
"""Fields of Settings that not every version has, and the switch that says so."""


def has_field(behaviour: Behaviour, field: str) -> bool:
    """True if a version that decides so has that field of Settings."""
    return field not in _NEEDED or bool(getattr(behaviour, _NEEDED[field]))


@dataclass(frozen=True, slots=True)
class Settings:
    """One engine's scheduling configuration, resolved. `kv_blocks` counts the null block, as the
    engine does.

    Units: blocks, tokens, requests; `watermark_ratio` is a share of `kv_blocks`.
    `edge_input_tokens`: not an engine setting: the gateway's limit, which refuses longer prompts.
    `max_loras`: adapters that one step serves. `drafting`: None without speculation. `kv_role`: of
    --kv-transfer-config; empty without a connector.
    Source: vLLM 0.32.0, SchedulerConfig and CacheConfig.
    """

    kv_blocks: int
    groups: tuple[KvGroup, ...] = (KvGroup(BLOCK_TOKENS),)
    max_model_len: int = 2**20
    max_num_seqs: int = SMALL_CARD_SEQS
    max_num_batched_tokens: int = SMALL_CARD_STEP_TOKENS
    max_num_active_seqs: int | None = None
    long_prefill_token_threshold: int = 0
    watermark_ratio: float = 0.0
    policy: Policy = "fcfs"
    prefix_caching: bool = True
    chunked_prefill: bool = True
    async_scheduling: bool = False
    reserve_full_isl: bool = True
    max_queued_requests: int | None = None
    max_queued_tokens: int | None = None
    behaviour: Behaviour = Behaviour()
    edge_input_tokens: int | None = None
    max_loras: int = 1
    drafting: Drafting | None = None
    kv_role: KvRole = ""

    @property
    def usable_blocks(self) -> int:
        """Blocks that requests can hold: all but the null block."""
        return self.kv_blocks - 1

    @property
    def hands_over_kv(self) -> bool:
        """True if requests may leave KV behind that another engine fetches."""
        return self.kv_role in ("kv_producer", "kv_both")

    @property
    def fetches_kv(self) -> bool:
        """True if requests may come whose KV another engine has."""
        return self.kv_role in ("kv_consumer", "kv_both")

    @property
    def hash_tokens(self) -> int:
        """Tokens that one block hash covers: the largest size that divides every group's block."""
        return math.gcd(*(group.block_tokens for group in self.groups))

    @property
    def aligned_tokens(self) -> int:
        """Hits of the prefix cache end at multiples of this."""
        return math.lcm(*(group.block_tokens for group in self.groups))

    @property
    def watermark_blocks(self) -> int:
        """Blocks left free when a request is admitted beside others."""
        return int(self.watermark_ratio * self.kv_blocks)

    @property
    def running_limit(self) -> int:
        """Requests that may run at once."""
        return self.max_num_seqs if self.max_num_active_seqs is None else self.max_num_active_seqs

    @property
    def in_flight_tokens(self) -> int:
        """Tokens that can be scheduled and not yet taken in: what a window's admission has to
        reserve for.
        """
        both = self.async_scheduling and self.behaviour.window_freed_when_processed
        return self.max_num_batched_tokens * (2 if both else 1)

    @property
    def dry_steps(self) -> int:
        """More steps in a row without a token than any engine takes that still gets somewhere: the
        first in line needs no more than one prefill for its token, so that after several times as
        many, requests preempt each other for ever.
        """
        return 1000 + 4 * ceil_div(self.max_model_len, self.longest_chunk_tokens)

    @property
    def longest_chunk_tokens(self) -> int:
        """Most tokens of one prompt that a step computes."""
        return min(
            self.max_num_batched_tokens,
            self.long_prefill_token_threshold or self.max_num_batched_tokens,
        )

    @property
    def state_tokens(self) -> int:
        """Tokens after which a state that moves on with its request is kept; 0 without such."""
        return next((group.block_tokens for group in self.groups if group.state == "align"), 0)

    def admission_cap_blocks(self, group: KvGroup) -> int | None:
        """Most blocks that admission counts for one request in that group; None for no cap."""
        if not self.behaviour.window_admission_cap:
            return None
        if group.chunk_tokens is not None:
            return ceil_div(
                min(group.chunk_tokens + self.in_flight_tokens, self.max_model_len),
                group.block_tokens,
            )
        if group.window_tokens is None:
            return None
        held = min(group.window_tokens - 1 + self.in_flight_tokens, self.max_model_len)
        return ceil_div(held, group.block_tokens) + 1

    def fits(self, length_tokens: int) -> bool:
        """True if one request of that length, alone, can be held whole: what the engine asks of
        max_model_len when it starts.
        """
        return self.needed_blocks(length_tokens) <= self.usable_blocks

    def needed_blocks(self, length_tokens: int) -> int:
        """Blocks that one request of that length takes, over all groups."""
        blocks = 0
        for group in self.groups:
            need, cap = (
                ceil_div(length_tokens, group.block_tokens),
                2 if group.state == "align" else self.admission_cap_blocks(group),
            )
            blocks += need if cap is None else min(need, cap)
        return blocks


def would_not_start(settings: Settings) -> str:
    """Why an engine would not start with such a pool, in a clause; empty if it would."""
    if settings.fits(settings.max_model_len):
        return ""
    return (
        f"one request of max_model_len {settings.max_model_len:,} does not fit in "
        f"{settings.usable_blocks:,} blocks"
    )


def newer_than_read(version: str) -> str:
    """A sentence where the version is of a later minor than the newest whose decisions are known;
    else empty.
    """
    known = parse_version(version)
    if known is None or not known.beyond(NEWEST_READ):
        return ""
    return (
        f"vLLM {known} is newer than {NEWEST_READ}, the newest whose scheduler is known here: it is "
        f"taken to decide as {NEWEST_READ} does"
    )


def for_version(settings: Settings, version: str = DEFAULT_VERSION) -> Settings:
    """The settings as that version resolves them: what it lacks is off, what it decides otherwise
    is switched.

    Errors: InputError where the version is unknown or too old, or where the engine would refuse the
    settings.
    """
    known = parse_version(version)
    if known is None or known.before(OLDEST_SIMULATED):
        raise InputError(
            f"the twin knows vLLM {OLDEST_SIMULATED} and later, not {version!r}", "engine version"
        )
    behaviour = Behaviour.of(known)
    for setting in SETTINGS.values():
        given = setting.twin and getattr(settings, setting.twin) not in (None, 0.0)
        if given and not has_field(behaviour, setting.twin):
            raise InputError(
                f"vLLM {version} has no such setting; it came with {setting.since}", setting.name
            )
    resolved = replace(
        settings,
        behaviour=behaviour,
        reserve_full_isl=settings.reserve_full_isl and behaviour.full_sequence_gate,
    )
    check(resolved)
    return resolved


def check(settings: Settings) -> None:
    """Nothing, where an engine would start its scheduler with these settings.

    Errors: InputError naming the setting.
    """
    if settings.kv_blocks < 2:
        raise InputError(
            f"must be at least 2 (block 0 is the null block), not {settings.kv_blocks}", "kv blocks"
        )
    if settings.kv_blocks > _MOST_BLOCKS:
        raise InputError(f"must be at most {_MOST_BLOCKS:,}, not {settings.kv_blocks}", "kv blocks")
    positive = {
        "block size": min(group.block_tokens for group in settings.groups)
        if settings.groups
        else 0,
        "max_model_len": settings.max_model_len,
        "max_num_batched_tokens": settings.max_num_batched_tokens,
        "max_num_seqs": settings.max_num_seqs,
        "max_num_active_seqs": settings.running_limit,
    }
    for name, value in positive.items():
        if value < 1:
            raise InputError(f"must be at least 1, not {value}", name)
        if value > _LARGEST:
            raise InputError(f"must be at most {_LARGEST:,}, not {value}", name)
    if len({group.block_tokens for group in settings.groups}) > 1 and any(
        g.chunk_tokens is not None or g.state for g in settings.groups
    ):
        raise InputError(
            "local chunks and states are known with one block size for all groups", "block size"
        )
    if not 0 <= settings.watermark_ratio < 1:
        raise InputError(
            f"must be at least 0 and below 1, not {settings.watermark_ratio:g}", "watermark"
        )
    if settings.policy not in ("fcfs", "priority"):
        raise InputError(f"must be fcfs or priority, not {settings.policy!r}", "policy")
    if settings.max_num_batched_tokens < settings.max_num_seqs:
        raise InputError(
            f"{settings.max_num_batched_tokens} is below max_num_seqs "
            f"{settings.max_num_seqs}: vLLM refuses it",
            "max_num_batched_tokens",
        )
    if settings.running_limit > settings.max_num_seqs:
        raise InputError(
            f"{settings.running_limit} is above max_num_seqs {settings.max_num_seqs}: vLLM "
            "refuses it",
            "max_num_active_seqs",
        )
    if not 0 <= settings.long_prefill_token_threshold <= settings.max_model_len:
        raise InputError("must be 0 (off) to max_model_len", "long_prefill_token_threshold")
    if not settings.chunked_prefill and settings.max_num_batched_tokens < settings.max_model_len:
        raise InputError(
            f"{settings.max_num_batched_tokens} is below max_model_len "
            f"{settings.max_model_len}: without chunked prefill vLLM refuses it",
            "max_num_batched_tokens",
        )
    if settings.max_loras < 1:
        raise InputError(f"must be at least 1, not {settings.max_loras}", "max_loras")
    if settings.drafting is not None:
        _check_drafting(settings, settings.drafting)
    if settings.kv_role and (
        settings.drafting is not None or any(group.state for group in settings.groups)
    ):
        raise InputError(
            "KV from another engine is not modelled beside speculation or states",
            "kv_transfer_config",
        )
    for name, limit in (
        ("max_queued_requests", settings.max_queued_requests),
        ("max_queued_tokens", settings.max_queued_tokens),
    ):
        if limit is not None and limit < 0:
            raise InputError(f"must be 0 or more, not {limit}", name)


def _check_drafting(settings: Settings, drafting: Drafting) -> None:
    """Errors: InputError for speculation that vLLM refuses, or that is not modelled."""
    if settings.max_num_batched_tokens <= drafting.batch_slots:
        raise InputError(
            f"{settings.max_num_batched_tokens} leaves no room beside the drafter's "
            f"{drafting.batch_slots}: vLLM refuses it",
            "max_num_batched_tokens",
        )
    if any(group.state for group in settings.groups):
        raise InputError(
            "speculation beside cached states is not modelled: say --no-enable-prefix-caching",
            "speculative_config",
        )
    of_one_kind = len(settings.groups) == 1 and settings.groups[0].is_full
    if drafting.drops_block and settings.prefix_caching and not of_one_kind:
        raise InputError(
            "EAGLE and MTP with prefix caching are modelled for full attention only: say "
            "--no-enable-prefix-caching",
            "speculative_config",
        )
