"""The rules on what a Prometheus in the field holds: restarts, gaps, several models, clusters and
versions, replicas scaled away.

Played on a real Prometheus' promtool, from the recordings of the real engine.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from dev.promtool_series import STEP_S, Series, joined, played, readings, recorded_series, written
from tests.support.promtool import Play, fired_by, firing_after, firing_at, needed

from barostat.alerts.terms import Promised, Terms

BUNDLES = Path(__file__).parents[1] / "data" / "bundles"
TERMS = Terms(promised=Promised(ttft_s=2.0, itl_s=0.2, queue_s=30.0))
POD = {"job": "vllm", "namespace": "inference", "pod": "vllm-0", "instance": "10.0.0.7:8000"}
NO_POD = {"job": "vllm", "instance": "10.0.0.7:8000"}
OLD_NAMES = {
    "vllm:kv_cache_usage_perc": "vllm:gpu_cache_usage_perc",
    "vllm:inter_token_latency_seconds": "vllm:time_per_output_token_seconds",
    "vllm:prefix_cache_queries": "vllm:gpu_prefix_cache_queries",
    "vllm:prefix_cache_hits": "vllm:gpu_prefix_cache_hits",
    "vllm:num_requests_waiting_by_reason": "",
    "vllm:engine_sleep_state": "",
    "vllm:admission_rejections": "",
}
"""What 0.8 calls what the recorded 0.32 shows; empty: what it does not show."""


@pytest.fixture(scope="module", autouse=True)
def _promtool() -> None:
    needed()


def engine(name: str, seconds: float, **labels: str) -> Series:
    """A recorded engine under these labels, up."""
    found = played(recorded_series(readings(BUNDLES / name), **labels), 5.0, seconds)
    target = {label: labels[label] for label in labels if label != "model_name"}
    return found | {written("up", target): [1.0] * _steps(seconds)}


def as_of_old(series: Series) -> Series:
    """The same under the names of vLLM 0.8."""
    found: Series = {}
    for name, values in series.items():
        metric, brace, labels = name.partition("{")
        family = next(
            (new for new in OLD_NAMES if metric == new or metric.startswith(new + "_")), None
        )
        if family is None:
            found[name] = values
        elif OLD_NAMES[family]:
            found[OLD_NAMES[family] + metric[len(family) :] + brace + labels] = values
    return found


def with_gaps(series: Series, every_s: float, for_s: float) -> Series:
    """The same with scrapes missing for a while, again and again."""
    every, missing = int(every_s / STEP_S), int(for_s / STEP_S)
    gap = float("nan")
    return {
        name: [gap if step % every < missing else value for step, value in enumerate(values)]
        for name, values in series.items()
    }


def constant(name: str, value: float, seconds: float, **labels: str) -> Series:
    return {written(name, labels): [value] * _steps(seconds)}


def _steps(seconds: float) -> int:
    return int(seconds / STEP_S) + 1


def test_a_restart_is_told_as_one_and_as_nothing_else(tmp_path: Path) -> None:
    """Counters that begin again are neither stalled tokens nor a burst of preemptions."""
    series = joined(engine("healthy-busy", 900, **POD), engine("healthy-busy", 900, **POD))
    assert fired_by(tmp_path, Play("reset", series, TERMS), 1800) == {"BarostatEngineRestarted"}


def test_gaps_of_two_minutes_say_nothing_and_hide_nothing(tmp_path: Path) -> None:
    healthy = with_gaps(engine("healthy-busy", 3600, **POD), 420, 120)
    assert fired_by(tmp_path, Play("healthy", healthy, TERMS), 3600) == set()
    ill = with_gaps(engine("kv-preemption-thrash", 1800, **POD), 420, 120)
    assert "BarostatPreempting" in fired_by(tmp_path, Play("ill", ill, TERMS), 1800)
    hung = with_gaps(engine("hung-engine", 1800, **POD), 420, 60)
    assert "BarostatStalledTokens" in fired_by(tmp_path, Play("hung", hung, TERMS), 1800)


def test_of_two_models_on_one_prometheus_each_has_its_own_alerts(tmp_path: Path) -> None:
    other = {**POD, "pod": "chat-0", "instance": "10.0.0.8:8000"}
    ill = {
        name.replace('model_name="', 'model_name="other-'): values
        for name, values in engine("hung-engine", 900, **other).items()
    }
    series = engine("healthy-busy", 900, **POD) | ill
    (model,) = {
        name.partition('model_name="')[2].partition('"')[0]
        for name in series
        if 'model_name="' in name and "other-" not in name
    }
    assert (
        fired_by(
            tmp_path,
            Play("of the healthy one", series, replace(TERMS, labels={"model_name": model})),
            900,
        )
        == set()
    )
    (other_model,) = {
        name.partition('model_name="')[2].partition('"')[0]
        for name in ill
        if 'model_name="' in name
    }
    terms = replace(TERMS, labels={"model_name": other_model})
    assert "BarostatStalledTokens" in fired_by(
        tmp_path, Play("of the hung one", series, terms), 900
    )
    assert "BarostatStalledTokens" in fired_by(tmp_path, Play("of both", series, TERMS), 900)


@pytest.mark.parametrize("name", ["kv-preemption-thrash", "kv-admission-queueing", "hung-engine"])
def test_without_a_pod_label_the_same_fires(name: str, tmp_path: Path) -> None:
    fired = [
        fired_by(
            tmp_path,
            Play(name, engine(name, 900, **labels), Terms(promised=Promised(ttft_s=2.0))),
            900,
        )
        for labels in (POD, NO_POD)
    ]
    assert fired[0] == fired[1] != set()


@pytest.mark.parametrize(
    "name",
    [
        "kv-preemption-thrash",
        "kv-admission-queueing",
        "hung-engine",
        "healthy-busy",
        "prefill-bound",
    ],
)
def test_under_old_names_the_same_fires_also_beside_new_ones(name: str, tmp_path: Path) -> None:
    other = {**POD, "pod": "vllm-1", "instance": "10.0.0.8:8000"}
    new, old = engine(name, 900, **POD), as_of_old(engine(name, 900, **POD))
    told = fired_by(tmp_path, Play("new", new, TERMS), 900)
    assert fired_by(tmp_path, Play("old", old, TERMS), 900) == told
    beside = old | engine("healthy-idle", 900, **other)
    assert fired_by(tmp_path, Play("old beside new", beside, TERMS), 900) == told


def test_of_a_model_in_two_versions_the_slow_replica_of_the_old_one_burns_too(
    tmp_path: Path,
) -> None:
    """Half of the gaps are slow, in the replica that counts them under the old name."""
    other = {**POD, "pod": "vllm-1", "instance": "10.0.0.8:8000"}
    strict = Terms(promised=Promised(itl_s=0.01))
    new, old = engine("healthy-busy", 1200, **POD), as_of_old(engine("healthy-busy", 1200, **other))
    lax = {
        name: values
        for name, values in new.items()
        if not name.startswith("vllm:inter_token_latency_seconds")
    }
    buckets = {
        name: values
        for name, values in new.items()
        if name.startswith("vllm:inter_token_latency_seconds")
    }
    (total,) = (values for name, values in buckets.items() if "_count{" in name)
    fast = {
        name: total if "_bucket{" in name else values for name, values in buckets.items()
    }  # every gap in the first bucket
    assert "BarostatSloFastBurn" not in fired_by(
        tmp_path, Play("the fast one", lax | fast, strict), 1200
    )
    assert "BarostatSloFastBurn" in fired_by(
        tmp_path, Play("with the slow one", lax | fast | old, strict), 1200
    )


def test_an_engine_that_stays_down_stays_told(tmp_path: Path) -> None:
    """Its neighbour serves all the while, so that the metrics as such are not absent."""
    other = {**POD, "pod": "vllm-1", "instance": "10.0.0.8:8000"}
    seconds = 3 * 3600.0
    before = engine("healthy-busy", 600, **POD)
    series = joined(before, {written("up", POD): [0.0] * (_steps(seconds) - _steps(600))}) | engine(
        "healthy-idle", seconds, **other
    )
    assert firing_at(tmp_path, Play("down", series, TERMS), seconds) == {"BarostatEngineDown"}


def test_engines_of_two_clusters_may_have_one_address(tmp_path: Path) -> None:
    """As a ruler over several clusters sees them; both down at once, told once for each."""
    seconds = 1200.0
    series: Series = {}
    for cluster in ("a", "b"):
        labels = {**POD, "cluster": cluster}
        gone = {written("up", labels): [0.0] * (_steps(seconds) - _steps(600))}
        series |= joined(engine("healthy-busy", 600, **labels), gone)
    assert "BarostatEngineDown" in firing_at(tmp_path, Play("clusters", series, TERMS), seconds)


def test_two_workloads_of_one_model_are_held_each_to_its_own_promise(tmp_path: Path) -> None:
    """Chat and batch serve one model in one namespace; batch is promised less, and is as slow as
    that allows.
    """
    seconds = 3600.0
    batch = {**POD, "pod": "batch-0", "instance": "10.0.0.8:8000"}
    series = engine("healthy-busy", seconds, **POD) | engine(
        "kv-preemption-thrash", seconds, **batch
    )
    chat = Terms({"pod": "~vllm-.*"}, promised=Promised(ttft_s=2.0), workload="chat")
    other = Terms({"pod": "~batch-.*"}, promised=Promised(ttft_s=2.0), workload="batch")
    for one, beside in ((chat, other), (other, chat)):
        said = firing_after(
            tmp_path,
            Play("both", series, one, (beside,)),
            ["none of them"],
            seconds,
            by="alertname, workload",
        )
        burning = {workload for name, workload in _told(said) if name.startswith("BarostatSlo")}
        assert burning == {"batch"}


def test_a_cluster_that_burns_its_budget_is_named(tmp_path: Path) -> None:
    seconds = 3600.0
    series: Series = {}
    for cluster, name in (("a", "healthy-busy"), ("b", "kv-preemption-thrash")):
        series |= engine(name, seconds, **{**POD, "cluster": cluster})
    said = firing_after(
        tmp_path,
        Play("clusters", series, Terms(promised=Promised(ttft_s=2.0))),
        ["none of them"],
        seconds,
        by="alertname, cluster",
    )
    assert {
        cluster for name, cluster in _told(said, "cluster") if name.startswith("BarostatSlo")
    } == {"b"}


def _told(said: str, label: str = "workload") -> list[tuple[str, str]]:
    """Each alert that promtool tells of, with that label."""
    found = re.findall(r"\{(alertname=[^}]*)\}", said.partition("got:")[2])
    pairs = [dict(re.findall(r'(\w+)="([^"]*)"', one)) for one in found]
    return [(one["alertname"], one.get(label, "")) for one in pairs]


def test_scaled_to_zero_is_silence_where_kubernetes_says_so(tmp_path: Path) -> None:
    seconds = 3600.0
    terms = replace(
        TERMS,
        labels={"model_name": "m", "namespace": "inference"},
        target="deploy/vllm -n inference",
    )
    wanted = {"job": "kube-state-metrics", "namespace": "inference", "deployment": "vllm"}

    def told(**played_too: float) -> set[str]:
        series = constant("something_else", 1.0, seconds)
        for name, value in played_too.items():
            series |= constant(name, value, seconds, **wanted)
        return fired_by(tmp_path, Play("gone", series, terms), seconds)

    assert told() == {"BarostatEngineNotSeen"}
    assert told(kube_deployment_spec_replicas=2) == {"BarostatEngineNotSeen"}
    assert told(kube_deployment_spec_replicas=0) == set()


def test_what_kubernetes_tells_of_a_pod_is_of_the_workload_that_its_engine_is_of(
    tmp_path: Path,
) -> None:
    """By that label the one alert hides the others. The pod served another model within the
    hour.
    """
    seconds = 1200.0
    container = {
        "job": "kube-state-metrics",
        "namespace": "inference",
        "pod": "vllm-0",
        "container": "vllm",
    }
    ended = written(
        "kube_pod_container_status_last_terminated_reason", {**container, "reason": "OOMKilled"}
    )
    restarts = written("kube_pod_container_status_restarts_total", container)
    late = _steps(seconds) - 4
    before = {
        name.replace('model_name="', 'model_name="a-'): values
        for name, values in engine("healthy-busy", 300, **POD).items()
    }
    series = joined(before, engine("healthy-busy", seconds - 300 - STEP_S, **POD))
    series |= {ended: [0.0] * late + [1.0] * 4, restarts: [2.0] * late + [3.0] * 4}
    said = firing_after(
        tmp_path, Play("ended", series, TERMS), ["none of them"], seconds, by="alertname, workload"
    )
    told = dict(re.findall(r'alertname="(\w+)", workload="([^"]+)"', said.partition("got:")[2]))
    assert told["BarostatOutOfMemory"] in ("inference/tiny", "inference/a-tiny")
