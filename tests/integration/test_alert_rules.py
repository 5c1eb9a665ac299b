"""Every alert on a real Prometheus' promtool: it fires in time in its incident, pages once, and is
silent where nothing is wrong.

Incidents are recordings of the real engine where there is one. What no engine on this machine shows
(cards, Kubernetes' own counters, a growing pool over an hour) is written here, beside a recording,
and says so.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from dev.promtool_series import STEP_S, Series, joined, played, readings, recorded_series, written
from tests.support.promtool import PROMTOOL, Play, fired_by, needed

from barostat.alerts import healthy_hours
from barostat.alerts.inhibitions import hidden_by
from barostat.alerts.named import alerts
from barostat.alerts.terms import Promised, Terms
from barostat.gateway.gauges import Labelled
from barostat.gateway.metrics import Metrics

DATA = Path(__file__).parents[1] / "data"
CHANGING = DATA / "alerts" / "healthy-changing.tar.gz"
"""A quarter of an hour of the real engine under changing traffic, a page every 15 s, on a machine
with much else to do.
"""
PROMISED = Promised(ttft_s=2.0, itl_s=0.2, queue_s=30.0, utilization=0.92)
TERMS = Terms(promised=PROMISED)
LONG_PROMPTS = replace(TERMS, promised=replace(PROMISED, ttft_s=5.0))
"""Prompts of 4,500 tokens take the CPU engine three seconds: nobody promises two."""
HERE = {"job": "vllm", "namespace": "inference", "pod": "vllm-0", "instance": "10.0.0.7:8000"}
CARD = {
    "job": "dcgm-exporter",
    "Hostname": "node-a",
    "gpu": "0",
    "UUID": "GPU-1",
    "exported_namespace": "inference",
    "exported_pod": "vllm-0",
}
CONTAINER = {
    "job": "kube-state-metrics",
    "namespace": "inference",
    "pod": "vllm-0",
    "container": "vllm",
    "uid": "1",
}
ALERTS = {alert.name: alert for alert in alerts()}


@pytest.fixture(scope="module", autouse=True)
def promtool() -> Path:
    """The real one."""
    needed()
    return PROMTOOL


def recording(name: str, seconds: float) -> Series:
    """A recorded engine, scraped as job vllm, up all the while."""
    changing = name == "healthy-changing"
    pages = readings(CHANGING if changing else DATA / "bundles" / name)
    found = played(recorded_series(pages, **HERE), 15.0 if changing else 5.0, seconds)
    return found | constant("up", 1.0, seconds, job="vllm", instance=HERE["instance"])


def constant(name: str, value: float, seconds: float, **labels: str) -> Series:
    """A series that stays."""
    return {written(name, labels): [value] * (int(seconds / STEP_S) + 1)}


def line(name: str, first: float, last: float, seconds: float, **labels: str) -> Series:
    """A series that goes evenly from one value to the other."""
    steps = int(seconds / STEP_S)
    return {
        written(name, labels): [first + (last - first) * step / steps for step in range(steps + 1)]
    }


def named(series: Series, name: str) -> str:
    """The one series of that name."""
    (found,) = (one for one in series if one.startswith(name + "{"))
    return found


def recorded_as(name: str) -> Callable[[float], Series]:
    return lambda seconds: recording(name, seconds)


def gives_nothing(seconds: float) -> Series:
    """The hung engine's recording, its eight requests waiting and not running."""
    found = recording("hung-engine", seconds)
    for name, value in (("vllm:num_requests_running", 0.0), ("vllm:num_requests_waiting", 8.0)):
        found[named(found, name)] = [value] * len(found[named(found, name)])
    return found


def filling(seconds: float) -> Series:
    """The busy engine's recording, its pool filling from 40 % to 95 % within 45 minutes."""
    found = recording("healthy-busy", seconds)
    (ramp,) = line("x", 0.4, 0.4 + 0.55 * seconds / 2700, seconds).values()
    found[named(found, "vllm:kv_cache_usage_perc")] = ramp
    return found


def turning_away(seconds: float) -> Series:
    """The busy engine's recording, its queue limit turning three requests a second away."""
    found = recording("healthy-busy", seconds)
    (name,) = (
        one
        for one in found
        if one.startswith("vllm:admission_rejections_total") and "max_num_queued_reqs" in one
    )
    (found[name],) = line("x", 0, 3 * seconds, seconds).values()
    return found


def down(seconds: float) -> Series:
    """The busy engine for five minutes, then nothing of it and the scrape failing."""
    gone = int((seconds - 300) / STEP_S)
    before = recording("healthy-busy", 300)
    up = named(before, "up")
    return joined(before, {up: [0.0] * gone})


def unseen(seconds: float) -> Series:
    """The busy engine for five minutes, then not even a target."""
    return joined(
        recording("healthy-busy", 300), {"something_else": [1.0] * int((seconds - 300) / STEP_S)}
    )


def restarted(seconds: float) -> Series:
    """The busy engine for ten minutes, and from the beginning again."""
    return joined(recording("healthy-busy", 600), recording("healthy-busy", seconds - 600))


def out_of_memory(seconds: float) -> Series:
    """The busy engine, and what kube-state-metrics says of a container that was OOM-killed a minute
    ago.
    """
    late = int(seconds / STEP_S) + 1 - 4
    (ended, restarts) = (
        written(
            "kube_pod_container_status_last_terminated_reason", {**CONTAINER, "reason": "OOMKilled"}
        ),
        written("kube_pod_container_status_restarts_total", CONTAINER),
    )
    return recording("healthy-busy", seconds) | {
        ended: [0.0] * late + [1.0] * 4,
        restarts: [2.0] * late + [3.0] * 4,
    }


def throttled(seconds: float) -> Series:
    """A card at its power cap (0x4) that is too hot as well (0x20)."""
    return recording("healthy-busy", seconds) | constant(
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 0x24, seconds, **CARD
    )


def amd_throttled(seconds: float) -> Series:
    """AMD's exporter: residency of a thermal violation grows."""
    grown = line(
        "amd_gpu_violation_hbm_thermal_residency_accumulated",
        0,
        10 * seconds,
        seconds,
        gpu_id="0",
        hostname="node-b",
    )
    return recording("healthy-busy", seconds) | grown


def off_the_bus(seconds: float) -> Series:
    """Xid 79."""
    return recording("healthy-busy", seconds) | constant(
        "DCGM_FI_DEV_XID_ERRORS", 79, seconds, **CARD
    )


def corrupted(seconds: float) -> Series:
    """An uncorrectable memory error, the second since boot."""
    steps = int(seconds / STEP_S) + 1
    return recording("healthy-busy", seconds) | {
        written("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", CARD): [1.0] * (steps - 4) + [2.0] * 4
    }


def gateway_pages(seconds: float, act: Callable[[Metrics, int], Labelled]) -> Series:
    """Pages of the gateway's own metrics, one a scrape. `act`: what happens before each, and the
    gauges then.
    """
    metrics, pages = Metrics(), []
    for step in range(int(seconds / STEP_S) + 1):
        labelled = act(metrics, step)
        pages.append(metrics.page({}, labelled).decode())
    found: Series = {}
    for index, page in enumerate(pages):
        for text in page.splitlines():
            if text.startswith("#"):
                continue
            name, _, value = text.rpartition(" ")
            inside = f'instance="gw:8081",job="gateway",namespace="inference"{"," + name.partition("{")[2][:-1] if "{" in name else ""}'
            series = f"{name.partition('{')[0]}{{{inside}}}"
            found.setdefault(series, [float("nan")] * index).append(float(value))
    return recording("healthy-busy", seconds) | found


def _up(value: float, active: float = 0) -> Labelled:
    return {
        "replica_up": {"replica": {"a:8000": value}},
        "replica_active_requests": {"replica": {"a:8000": active}},
    }


def refusing(seconds: float) -> Series:
    """A gateway that refuses two of ten for want of room."""

    def act(metrics: Metrics, step: int) -> Labelled:
        for _ in range(8):
            metrics.answered("completions", 200)
            metrics.first_byte_seconds.observe(0.1)
        for _ in range(2 if step else 1):
            metrics.answered("completions", 503)
            metrics.refused("deadline-passed", "completions")
        return _up(1.0)

    return gateway_pages(seconds, act)


def unanswered(seconds: float) -> Series:
    """A gateway with three requests at an engine whose core hangs; the engine's own metrics are
    those of an idle one.
    """
    found = gateway_pages(seconds, lambda *_: _up(1.0, 3.0))
    return {
        name: values for name, values in found.items() if not name.startswith("vllm:")
    } | recording("hung-engine-idle", seconds)


def taken_out(seconds: float) -> Series:
    """A gateway that has taken its engine out."""
    return gateway_pages(seconds, lambda *_: _up(0.0))


INCIDENTS: dict[str, tuple[str, Callable[[float], Series], Terms]] = {
    "kv-admission-queueing": ("BarostatCapacityWaiting", recorded_as("kv-admission-queueing"), Terms()),
    "kv-preemption-thrash": ("BarostatPreempting", recorded_as("kv-preemption-thrash"), TERMS),
    "few-large-growing": ("BarostatPreempting", recorded_as("few-large-growing"), LONG_PROMPTS),
    "slow queue": ("BarostatQueueAge", recorded_as("few-large-half-empty"), LONG_PROMPTS),
    "prefill-bound, fast": ("BarostatSloFastBurn", recorded_as("prefill-bound"), TERMS),
    "slot-bound, slowly": ("BarostatSloSlowBurn", recorded_as("slot-bound"), TERMS),
    "hung-engine": ("BarostatStalledTokens", recorded_as("hung-engine"), TERMS),
    "waiting for nothing": ("BarostatGivesNothing", gives_nothing, TERMS),
    "filling": ("BarostatExhaustionForecast", filling, TERMS),
    "turning away": ("BarostatEngineRefusals", turning_away, TERMS),
    "refusing": ("BarostatGatewayRefusals", refusing, TERMS),
    "hung-engine-idle": ("BarostatGatewayNoAnswers", unanswered, TERMS),
    "taken out": ("BarostatGatewayReplicaDown", taken_out, TERMS),
    "down": ("BarostatEngineDown", down, TERMS),
    "unseen": ("BarostatEngineNotSeen", unseen, TERMS),
    "restarted": ("BarostatEngineRestarted", restarted, TERMS),
    "OOM-killed": ("BarostatOutOfMemory", out_of_memory, TERMS),
    "too hot": ("BarostatCardThrottled", throttled, TERMS),
    "too hot, AMD": ("BarostatCardThrottled", amd_throttled, TERMS),
    "Xid 79": ("BarostatCardFault", off_the_bus, TERMS),
    "memory error": ("BarostatCardFault", corrupted, TERMS),
    "other utilization": ("BarostatNotAsDeclared", recorded_as("healthy-busy"), Terms(promised=Promised(utilization=0.9))),
    "smaller pool": (
        "BarostatNotAsDeclared", recorded_as("healthy-busy"), Terms(promised=Promised(pool_tokens=32_768, block_tokens=128)),
    ),
}  # fmt: skip
BEFORE_S = {"down": 300.0, "unseen": 300.0, "restarted": 600.0}
"""How long all is well first, in those whose incident begins later."""


def test_every_alert_has_its_incident() -> None:
    assert {name for name, _, _ in INCIDENTS.values()} == set(ALERTS)


@pytest.mark.parametrize("incident", INCIDENTS)
def test_an_alert_fires_in_time_and_pages_once(incident: str, tmp_path: Path) -> None:
    name, series, terms = INCIDENTS[incident]
    seconds = ALERTS[name].within_s + BEFORE_S.get(incident, 0.0)
    fired = fired_by(tmp_path, Play(incident, series(seconds), terms), seconds)
    assert name in fired
    told = fired - {hidden for one in fired for hidden in hidden_by(ALERTS[one], alerts())}
    paged = {one for one in told if ALERTS[one].severity == "critical"}
    assert name in told or paged, "somebody else hides it, and does not page"
    assert len(paged) <= 1, f"{paged} page for one incident"
    if ALERTS[name].severity == "critical":
        assert paged == {name}


HEALTHY = {name: recorded_as(name) for name in healthy_hours.RECORDINGS}


def memory_high(seconds: float) -> Series:
    """The busy engine's recording with usage at 96 % throughout, on a card whose memory is 92 %
    used and which runs at its power cap.
    """
    found = recording("healthy-busy", seconds)
    found[named(found, "vllm:kv_cache_usage_perc")] = [0.96] * len(
        found[named(found, "vllm:kv_cache_usage_perc")]
    )
    assert set(found[named(found, "vllm:num_requests_waiting")]) == {0.0}
    for name, value in (
        ("FB_USED", 73_600.0),
        ("FB_FREE", 6_400.0),
        ("GPU_UTIL", 100.0),
        ("XID_ERRORS", 43.0),
        ("CLOCKS_EVENT_REASONS", 4.0),
    ):
        found |= constant(f"DCGM_FI_DEV_{name}", value, seconds, **CARD)
    return found


@pytest.mark.parametrize("name", [*healthy_hours.RECORDINGS, "memory at 92 %, usage at 96 %"])
def test_a_healthy_hour_is_silent(name: str, tmp_path: Path) -> None:
    """What each alert's page says of the healthy hours is counted here."""
    terms = LONG_PROMPTS if name == "few-large-healthy" else TERMS
    series = HEALTHY.get(name, memory_high)(healthy_hours.HOUR_S)
    fired = fired_by(tmp_path, Play(name, series, terms), healthy_hours.HOUR_S)
    assert fired == {alert for alert, times in healthy_hours.FIRED.items() if times}
    assert len(HEALTHY) + 1 == healthy_hours.HOURS


def test_a_broken_rule_would_be_seen(tmp_path: Path) -> None:
    """The harness tells an alert that fires from one that does not: the same series under promises
    that hold, and that do not.
    """
    series = recording("healthy-busy", 900)
    assert fired_by(tmp_path, Play("kept", series, TERMS), 900) == set()
    broken = replace(TERMS, promised=replace(PROMISED, ttft_s=0.001))
    assert "BarostatSloFastBurn" in fired_by(tmp_path, Play("broken", series, broken), 900)
    assert shutil.which(str(PROMTOOL))
