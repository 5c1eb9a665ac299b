"""ServingLimits: what a model may do under load, and what its numbers were derived from.

Absent fields (None) mean no limit. `because` holds the reason for each number, by path
(`engine.maxNumSeqs`). Unknown keys are rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

API_VERSION = "barostat.dev/v1alpha1"
KIND = "ServingLimits"

FailurePolicy = Literal["open", "closed"]
FAILURE_POLICIES = ("maxInputTokens", "kvTokenBudget")
"""The limits whose state can be missing, so that it has to be said what happens then."""


@dataclass(frozen=True, slots=True)
class TargetRef:
    """The object whose serving is limited."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one request. `on_missing_output_limit`: cap the output silently, or reject the
    request.
    """

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_stream_seconds: float | None = None
    on_missing_output_limit: Literal["cap", "refuse"] | None = None


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """The engine's own flags. `gpu_memory_utilization` and `kv_cache_memory_bytes` exclude each
    other: the second makes the engine ignore the first.
    """

    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_active_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    watermark: float | None = None
    gpu_memory_utilization: float | None = None
    kv_cache_memory_bytes: int | None = None
    kv_cache_dtype: str | None = None
    max_queued_requests: int | None = None
    max_queued_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity from which the other numbers were derived. `measured_from`: a log, a metric, or
    `estimate`.
    """

    kv_cache_tokens: int | None = None
    block_size: int | None = None
    headroom_ratio: float | None = None
    measured_from: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """Promised latencies (SLO), in seconds; None: not promised."""

    ttft_p99_seconds: float | None = None
    itl_p99_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A priority class. `pool_share`: of each KV pool, what this class and those below it may hold
    together, 0..1; `queue_share`: the same of the places to wait. Absent: that of the class above.
    """

    name: str
    pool_share: float | None = None
    queue_share: float | None = None


@dataclass(frozen=True, slots=True)
class EdgeLimits:
    """Limits of the gateway as a whole. `failure_policy`: by limit, what happens while its state
    cannot be had. `priority_classes`: the most important first; the last is refused first.
    """

    kv_token_budget: int | None = None
    queue_deadline_seconds: float | None = None
    failure_policy: Mapping[str, FailurePolicy] = field(default_factory=dict)
    priority_classes: tuple[PriorityClass, ...] = ()


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """One tenant's part. `share`: of the KV-token budget, 0..1. `priority_class`: of its requests;
    absent: the first.
    """

    name: str
    share: float | None = None
    max_concurrency: int | None = None
    tokens_per_minute: int | None = None
    priority_class: str | None = None


@dataclass(frozen=True, slots=True)
class RemedyLimits:
    """How far automation may go, and how long a replica of the former version stays warm after a
    rollout.
    """

    autonomy: Literal["observe", "recommend", "act"] | None = None
    floor_replicas: int | None = None
    max_replicas: int | None = None
    changes_per_hour: int | None = None
    burn_window_seconds: float | None = None
    keep_previous_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class LimitsSpec:
    """The `spec` of a limits file."""

    target_ref: TargetRef | None = None
    model: str | None = None
    engine_version: str | None = None
    request: RequestLimits = field(default_factory=RequestLimits)
    engine: EngineLimits = field(default_factory=EngineLimits)
    capacity: Capacity = field(default_factory=Capacity)
    slo: ServiceLevel = field(default_factory=ServiceLevel)
    edge: EdgeLimits = field(default_factory=EdgeLimits)
    tenants: tuple[TenantLimits, ...] = ()
    remedy: RemedyLimits = field(default_factory=RemedyLimits)


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """One limits document. `name`: its metadata.name, None for a file that is no custom
    resource.
    """

    spec: LimitsSpec
    because: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None


def contradictions(limits: ServingLimits) -> list[tuple[str, str]]:
    """Return contradictions as (path, sentence): values that exclude each other or that no engine
    accepts.
    """
    spec = limits.spec
    found: list[tuple[str, str]] = []
    request, engine, capacity = spec.request, spec.engine, spec.capacity
    if engine.gpu_memory_utilization is not None and engine.kv_cache_memory_bytes is not None:
        found.append(
            (
                "spec.engine.kvCacheMemoryBytes",
                (
                    "gpuMemoryUtilization is set too, and the engine ignores it beside "
                    "kvCacheMemoryBytes: keep one"
                ),
            )
        )
    if (
        engine.max_num_active_seqs is not None
        and engine.max_num_seqs is not None
        and engine.max_num_active_seqs > engine.max_num_seqs
    ):
        found.append(
            (
                "spec.engine.maxNumActiveSeqs",
                "must not be above maxNumSeqs: the engine refuses to start",
            )
        )
    budget, slots = engine.max_num_batched_tokens, engine.max_num_seqs
    if budget is not None and slots is not None and budget < slots:
        found.append(
            (
                "spec.engine.maxNumBatchedTokens",
                "must not be below maxNumSeqs: the engine refuses to start",
            )
        )
    if engine.max_model_len is not None:
        if (
            request.max_input_tokens is not None
            and request.max_input_tokens >= engine.max_model_len
        ):
            found.append(
                (
                    "spec.request.maxInputTokens",
                    "leaves no room for output: it must be below engine.maxModelLen",
                )
            )
        asked = (request.max_input_tokens or 0) + (request.max_output_tokens or 0)
        if request.max_input_tokens and request.max_output_tokens and asked > engine.max_model_len:
            found.append(
                (
                    "spec.request.maxOutputTokens",
                    (
                        f"input and output together ask for {asked} tokens, engine.maxModelLen "
                        f"is {engine.max_model_len}"
                    ),
                )
            )
        if capacity.kv_cache_tokens is not None and engine.max_model_len > capacity.kv_cache_tokens:
            found.append(
                (
                    "spec.engine.maxModelLen",
                    (
                        "one request could need more than the whole pool of "
                        f"{capacity.kv_cache_tokens} tokens"
                    ),
                )
            )
    edge = spec.edge.kv_token_budget
    if (
        edge is not None
        and capacity.kv_cache_tokens is not None
        and edge > capacity.kv_cache_tokens
    ):
        found.append(
            ("spec.edge.kvTokenBudget", f"is above the pool of {capacity.kv_cache_tokens} tokens")
        )
    for name in spec.edge.failure_policy:
        if name.rpartition(".")[2] not in FAILURE_POLICIES:
            known = ", ".join(FAILURE_POLICIES)
            found.append(
                (
                    f"spec.edge.failurePolicy.{name}",
                    f"is no limit whose state can be missing; these are: {known}",
                )
            )
    shares = [tenant.share for tenant in spec.tenants if tenant.share is not None]
    if sum(shares) > 1.0 + 1e-9:
        found.append(("spec.tenants", f"the shares add up to {sum(shares):.2f}, more than 1"))
    names = [tenant.name for tenant in spec.tenants]
    if len(set(names)) < len(names):
        found.append(("spec.tenants", "two tenants have the same name"))
    found += _of_classes(spec)
    remedy = spec.remedy
    if (
        remedy.floor_replicas is not None
        and remedy.max_replicas is not None
        and remedy.floor_replicas > remedy.max_replicas
    ):
        found.append(("spec.remedy.floorReplicas", "is above maxReplicas"))
    return found


def _of_classes(spec: LimitsSpec) -> list[tuple[str, str]]:
    """What cannot be meant of the priority classes, and of the tenants that are in them."""
    found: list[tuple[str, str]] = []
    place = "spec.edge.priorityClasses"
    classes = spec.edge.priority_classes
    names = [one.name for one in classes]
    if len(set(names)) < len(names):
        found.append((place, "two priority classes have the same name"))
    for what, shares in (
        ("poolShare", [one.pool_share for one in classes]),
        ("queueShare", [one.queue_share for one in classes]),
    ):
        stated = [share for share in shares if share is not None]
        if stated != sorted(stated, reverse=True):
            found.append(
                (place, f"{what} must not be larger for a class than for the classes above it")
            )
    found += [
        (place, f"{name!r} is no name: letters, digits, dots, dashes and underscores were expected")
        for name in names
        if not name.replace(".", "").replace("-", "").replace("_", "").isalnum()
        or not name.isascii()
    ]
    found += [
        ("spec.tenants", f"{tenant.priority_class} is none of edge.priorityClasses")
        for tenant in spec.tenants
        if tenant.priority_class is not None and tenant.priority_class not in names
    ]
    return found
