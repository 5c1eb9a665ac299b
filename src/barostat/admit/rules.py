"""The limits as the gate applies them: every absent one given its meaning, once, so that a decision
only compares numbers.

Reloading the limits is making new rules: decisions from then on go by them, what is admitted stays
admitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barostat.core.limits import ServingLimits

_PREEMPTED_RATIO = 0.01
_QUEUE_DEADLINE_S = 30.0
_QUEUED = 2000
_TTFT_FOR_QUEUE_RATIO = (
    0.8  # of the time to the first token; the rest is for the prompt to be computed
)


@dataclass(frozen=True)
class ClassRule:
    """A priority class. `rank`: 0 for the most important. `pool_share`: of each pool, what this
    class and those below may hold together; `queue_share`: the same of the places to wait.
    """

    name: str
    rank: int
    pool_share: float = 1.0
    queue_share: float = 1.0


@dataclass(frozen=True)
class TenantRule:
    """Limits of a tenant. `share`: weight in the order of service (and of the budget where others
    want it too). `priority_class`: "" for the first.
    """

    name: str
    share: float
    max_concurrency: int | None = None
    tokens_per_minute: int | None = None
    priority_class: str = ""


@dataclass(frozen=True)
class Rules:
    """The enforced limits. Token limits apply per request; None: no limit.

    `kv_token_budget`: per replica, what may be held at the forecast's peak, None for the pool: no
    headroom is kept for growth, since growth is what the forecast is of. `itl_s`: what is promised
    of a gap between tokens, None for nothing. `queue_deadline_s`: longest wait. `preempted_ratio`:
    of the admitted, how many may be preempted. `classes`: by name, the most important first.
    `tenants_closed`: tenants are listed, and a name
    that is not among them is refused.
    """

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    refuse_above_output: bool = False
    refuse_no_output: bool = False
    max_model_len: int | None = None
    max_sequences: int = 128
    kv_token_budget: int | None = None
    max_running: int | None = None
    ttft_s: float | None = None
    itl_s: float | None = None
    queue_deadline_s: float = _QUEUE_DEADLINE_S
    max_queued: int = _QUEUED
    preempted_ratio: float = _PREEMPTED_RATIO
    tenants: Mapping[str, TenantRule] = field(default_factory=dict)
    tenants_closed: bool = False
    classes: Mapping[str, ClassRule] = field(default_factory=dict)

    @property
    def first_class(self) -> ClassRule | None:
        """The most important class, None if there are none."""
        return next(iter(self.classes.values()), None)


def rules_of(limits: ServingLimits) -> Rules:
    """The rules that these limits mean.

    A deadline that is not stated is 0.8 of the time to the first token, else 30 s. Tenants without
    a share divide what the others leave.
    """
    spec = limits.spec
    request, engine, edge, slo = spec.request, spec.engine, spec.edge, spec.slo
    deadline_s = edge.queue_deadline_seconds
    if deadline_s is None:
        deadline_s = (
            _QUEUE_DEADLINE_S
            if slo.ttft_p99_seconds is None
            else _TTFT_FOR_QUEUE_RATIO * slo.ttft_p99_seconds
        )
    taken = sum(tenant.share or 0.0 for tenant in spec.tenants)
    unstated = sum(tenant.share is None for tenant in spec.tenants)
    each = max(1.0 - taken, 0.05) / max(unstated, 1)
    tenants = {
        one.name: TenantRule(
            one.name,
            max(each if one.share is None else one.share, 1e-3),
            one.max_concurrency,
            one.tokens_per_minute,
            one.priority_class or "",
        )
        for one in spec.tenants
    }
    classes: dict[str, ClassRule] = {}
    pool_share = queue_share = 1.0
    for rank, named in enumerate(edge.priority_classes):
        pool_share = pool_share if named.pool_share is None else named.pool_share
        queue_share = queue_share if named.queue_share is None else named.queue_share
        classes[named.name] = ClassRule(named.name, rank, pool_share, queue_share)
    slots = [
        value for value in (engine.max_num_seqs, engine.max_num_active_seqs) if value is not None
    ]
    return Rules(
        max_input_tokens=request.max_input_tokens,
        max_output_tokens=request.max_output_tokens,
        refuse_above_output=request.on_missing_output_limit == "refuse",
        refuse_no_output=request.on_missing_output_limit == "refuse",
        max_model_len=engine.max_model_len,
        kv_token_budget=edge.kv_token_budget,
        max_running=min(slots, default=None),
        ttft_s=slo.ttft_p99_seconds,
        itl_s=slo.itl_p99_seconds,
        queue_deadline_s=deadline_s,
        tenants=tenants,
        tenants_closed=bool(tenants),
        classes=classes,
    )
