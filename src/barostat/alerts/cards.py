"""The cards' exporters: how their series are selected, and AMD's names."""

from __future__ import annotations

from dataclasses import replace

from barostat.alerts.terms import Terms

THROTTLED = (
    "gpu_violation_processor_hot_residency_accumulated",
    "gpu_violation_socket_thermal_residency_accumulated",
    "gpu_violation_vr_thermal_residency_accumulated",
    "gpu_violation_hbm_thermal_residency_accumulated",
)
"""Accumulated residency of violations for heat (MI3xx). Not the package's power: that cap is
normal.

Source: AMD device-metrics-exporter 1.x, its list of metrics; the GPU operator puts `amd_` in front.
"""
BROKEN_AMD = "gpu_ecc_uncorrect_total"


def card_matchers(terms: Terms) -> tuple[str, ...]:
    """The cards of the workload's namespace under both labels that Prometheus may give it; all
    cards where none is named.
    """
    namespace = terms.labels.get("namespace")
    if namespace is None:
        return ("",)
    return tuple(
        replace(terms, labels={name: namespace}).matchers()
        for name in ("namespace", "exported_namespace")
    )


def amd(name: str, matchers: str) -> str:
    """The series of that name, with or without the prefix."""
    inside = f",{matchers[1:-1]}" if matchers else ""
    return '{__name__=~"(amd_)?' + name + '"' + inside + "}"
