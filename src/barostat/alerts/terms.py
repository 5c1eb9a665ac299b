"""The terms of one workload's rules: which engines they select, the SLO, and the evaluation
interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barostat.core.limits import ServingLimits
from barostat.core.version import EngineVersion, parse_version

QUEUE_DEADLINE_S = 30.0
"""Queue deadline if the limits set none; most clients have given up by then."""
POOL_TOLERANCE_RATIO = 0.05
"""A pool that was measured at another start differs by some blocks; by this much it is another
pool.
"""


@dataclass(frozen=True, slots=True)
class Promised:
    """What the limits promise or were derived from; None: not stated. Units: seconds, tokens,
    bytes, 0..1.
    """

    ttft_s: float | None = None
    itl_s: float | None = None
    queue_s: float | None = None
    pool_tokens: int | None = None
    block_tokens: int | None = None
    utilization: float | None = None
    kv_cache_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """`labels`: those that select the engine's series, as they are in Prometheus; a value `~x` is
    an expression.

    `version` None: any of vLLM 0.6 to 0.33, side by side. `workload`: what every alert is labelled
    with; empty: namespace and model of the series. `target`: as `barostat diagnose` takes it;
    empty: made of the alert's labels. `limits_file`: where `promised` is from, for the commands.
    `runbooks`: address of the page of alerts, empty if it is not published. `pace`: every duration is multiplied by it
    (1; tests on a live Prometheus are quicker).
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    version: EngineVersion | None = None
    promised: Promised = field(default_factory=Promised)
    workload: str = ""
    target: str = ""
    limits_file: str = "limits.yaml"
    runbooks: str = ""
    pace: float = 1.0

    @property
    def queue_s(self) -> float:
        """How long a request may wait for its turn."""
        return self.promised.queue_s or QUEUE_DEADLINE_S

    def matchers(self, *names: str, **more: str) -> str:
        """`{...}` of the labels (only those of `names`, where some are named) and of `more`; empty
        if there are none.
        """
        wanted = {name: value for name, value in self.labels.items() if not names or name in names}
        inside = [_matcher(name, value) for name, value in (*wanted.items(), *more.items())]
        return "{" + ",".join(inside) + "}" if inside else ""

    def span(self, seconds: float) -> str:
        """A duration as Prometheus writes it, at this pace: 300 -> 5m."""
        scaled = round(seconds * self.pace * 1000)
        for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000)):
            if scaled and scaled % size == 0:
                return f"{scaled // size}{unit}"
        return f"{max(1, scaled)}ms"


def terms_of(limits: ServingLimits) -> Terms:
    """Derive the terms from a limits file. By default vLLM serves a model under its own name, so
    the rules select that name.
    """
    spec = limits.spec
    target = spec.target_ref
    engine, capacity = spec.engine, spec.capacity
    return Terms(
        labels={"model_name": spec.model} if spec.model else {},
        version=parse_version(spec.engine_version),
        promised=Promised(
            spec.slo.ttft_p99_seconds,
            spec.slo.itl_p99_seconds,
            spec.edge.queue_deadline_seconds,
            capacity.kv_cache_tokens,
            capacity.block_size,
            engine.gpu_memory_utilization,
            engine.kv_cache_memory_bytes,
        ),
        workload=limits.name or (target.name if target is not None else None) or spec.model or "",
    )


def _matcher(name: str, value: str) -> str:
    return (
        f'{name}=~"{_quoted(value[1:])}"' if value.startswith("~") else f'{name}="{_quoted(value)}"'
    )


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
