"""What could not be told, by the sources that were missing: a clause each, instead of one for every
symptom.
"""

from __future__ import annotations

from collections.abc import Iterable

from barostat.core.diagnosis import SymptomFinding
from barostat.core.verdict import Unknown

_SOURCES = (
    ("the card's state", ("gpu_",)),
    ("the kernel's log", ("kernel_",)),
    ("the cluster", ("pod_", "pods_", "node_", "hpa_", "scale_", "rollout_", "replicas_")),
    ("the gateway's access log", ("gateway_",)),
    ("the host and the engine's processes", ("host_", "cpu_", "process_", "engine_core_")),
    ("a request of one token (--probe)", ("probe_", "health_")),
    ("the engine's log", ("log_", "previous_log_")),
    ("the model's shape and the card (--model-config, --gpu)", ("expected_work_",)),
)


def not_measured(found: Iterable[SymptomFinding]) -> list[str]:
    """A clause for each source that was not seen, with the symptoms that need it; after them those
    with another reason, each reason once.
    """
    by_source: dict[str, list[str]] = {}
    by_reason: dict[str, list[str]] = {}
    for finding in found:
        if not isinstance(finding.verdict, Unknown):
            continue
        source = _source(finding.verdict)
        if source:
            by_source.setdefault(source, []).append(finding.name)
        else:
            by_reason.setdefault(finding.verdict.why, []).append(finding.name)
    return [
        *(f"without {source}: {', '.join(names)}" for source, names in by_source.items()),
        *(f"{', '.join(names)}: {why}" for why, names in by_reason.items()),
    ]


def _source(verdict: Unknown) -> str:
    """The sources whose readings are all that is missing; empty if there is another reason."""
    if "measured" not in verdict.why or not verdict.missing:
        return ""
    found = {
        next((source for source, starts in _SOURCES if signal.startswith(starts)), "")
        for signal in verdict.missing
    }
    return "" if "" in found else " or ".join(source for source, _ in _SOURCES if source in found)
