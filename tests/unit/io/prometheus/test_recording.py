"""What is remembered of a pod is of this pod, whoever else has its name."""

from __future__ import annotations

from tests.support.remembered_series import engine, recorded, series, told

from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.evidence.recording import Recording
from barostat.judge.history.series import Series


def card(uuid: str, used: float, **labels: str) -> list[Series]:
    return [
        series("DCGM_FI_DEV_FB_USED", used, UUID=uuid, gpu="0", Hostname="n", **labels),
        series("DCGM_FI_DEV_FB_FREE", 100.0 - used, UUID=uuid, gpu="0", Hostname="n", **labels),
    ]


def seen(found: Recording, name: str) -> dict[str, dict[str, float]]:
    """The last of the signals of that name, by replica."""
    windows = examine(found).windows
    return {
        replica: {
            engine: window.signals[name].last
            for engine, window in by_engine.items()
            if name in window.signals
        }
        for replica, by_engine in windows.items()
    }


def test_two_pods_of_one_name_keep_their_own_status_and_cards() -> None:
    found = recorded(
        engine("vllm-0", "10.0.0.1:8000", namespace="a"),
        engine("vllm-0", "10.0.0.2:8000", namespace="b"),
        told("vllm-0", "n1", 3.0, namespace="a"),
        told("vllm-0", "n2", 0.0, namespace="b"),
        card("GPU-a", 75.0, pod="vllm-0", namespace="a"),
        card("GPU-b", 25.0, pod="vllm-0", namespace="b"),
    )
    assert seen(found, "pod_restarts") == {"a/vllm-0": {"0": 3.0}, "b/vllm-0": {"0": 0.0}}
    assert [one.node for one in found.replicas] == ["n1", "n2"]
    assert seen(found, "gpu_memory_used_ratio") == {
        "a/vllm-0": {"0": 0.75},
        "b/vllm-0": {"0": 0.25},
    }


def test_two_clusters_behind_one_memory_are_kept_apart() -> None:
    west, east = (
        {"cluster": "gke_p_west", "namespace": "a"},
        {"cluster": "gke_p_east", "namespace": "a"},
    )
    found = recorded(
        engine("vllm-0", "10.0.0.1:8000", 1, **west),
        engine("vllm-0", "10.0.0.1:8000", 1, **east),
        told("vllm-0", "n1", 3.0, **west),
        told("vllm-0", "n2", 0.0, **east),
        card("GPU-w", 75.0, pod="vllm-0", **west),
        card(
            "GPU-e",
            25.0,
            exported_pod="vllm-0",
            exported_namespace="a",
            pod="dcgm-x",
            namespace="gpu",
            cluster="gke_p_east",
        ),
    )
    assert seen(found, "pod_restarts") == {
        "gke_p_east/a/vllm-0": {"0": 0.0},
        "gke_p_west/a/vllm-0": {"0": 3.0},
    }
    used = seen(found, "gpu_memory_used_ratio")
    assert used == {"gke_p_east/a/vllm-0": {"0": 0.25}, "gke_p_west/a/vllm-0": {"0": 0.75}}


def test_two_engines_in_one_pod_are_of_this_pod() -> None:
    found = recorded(
        engine("vllm-0", "10.0.0.1:8000", namespace="a"),
        engine("vllm-0", "10.0.0.1:8001", namespace="a"),
        engine("vllm-1", "10.0.0.2:8000", namespace="a"),
        told("vllm-0", "n1", 3.0, namespace="a"),
        told("vllm-1", "n1", 0.0, namespace="a"),
    )
    assert seen(found, "pod_restarts") == {
        "vllm-0:8000": {"0": 3.0},
        "vllm-0:8001": {"0": 3.0},
        "vllm-1": {"0": 0.0},
    }


def test_a_pod_of_which_nothing_is_told_is_not_given_another_ones_status() -> None:
    found = recorded(
        engine("vllm-0", "10.0.0.1:8000", namespace="a"),
        engine("vllm-1", "10.0.0.2:8000", namespace="a"),
        told("vllm-0", "n1", 3.0, namespace="a"),
    )
    assert seen(found, "pod_restarts") == {"vllm-0": {"0": 3.0}, "vllm-1": {}}


def test_without_a_namespace_a_name_that_two_have_tells_nothing() -> None:
    found = recorded(
        engine("vllm-0", "10.0.0.1:8000"),
        told("vllm-0", "n1", 3.0, namespace="a"),
        told("vllm-0", "n2", 0.0, namespace="b"),
        card("GPU-a", 75.0, pod="vllm-0", namespace="a"),
        card("GPU-b", 25.0, pod="vllm-0", namespace="b"),
    )
    assert not found.kubernetes
    assert not found.replicas[0].gpu_texts


def test_scrapes_that_failed_are_seen_although_samples_were_relabelled() -> None:
    up = series("up", 0.0, job="vllm", instance="10.0.0.1:8000")
    found = recorded(
        engine("vllm-0", "10.0.0.1:8000", job="vllm", team="added-by-metric-relabelling"), [up]
    )
    assert len(found.replicas[0].failed_scrapes) > 10


def test_a_target_with_a_label_that_engines_have_hides_no_rank() -> None:
    """A labelmap has put the pod's label `engine: vllm` on every sample: the engine's own is
    `exported_engine` then.
    """
    names = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
    target = {"engine": "vllm", "pod": "vllm-0", "namespace": "a", "instance": "10.0.0.1:8000"}
    found = recorded(
        [
            series(name, 0.5 * rank, **target, exported_engine=str(rank), model_name="m")
            for name in names
            for rank in (0, 1)
        ]
    )
    assert not found.problems
    assert seen(found, "kv_usage_ratio") == {"vllm-0": {"0": 0.0, "1": 0.5}}


def test_a_card_that_the_pod_had_before_it_moved_is_not_its_own_any_more() -> None:
    before = [
        Series(one.labels, one.points[:8])
        for one in card("GPU-old", 75.0, pod="vllm-0", namespace="a")
    ]
    now = [
        Series(one.labels, one.points[10:])
        for one in card("GPU-new", 25.0, pod="vllm-0", namespace="a")
    ]
    found = recorded(engine("vllm-0", "10.0.0.1:8000", namespace="a"), before, now)
    assert seen(found, "gpu_memory_used_ratio") == {"vllm-0": {"0": 0.25}}


def test_a_target_whose_labels_are_some_of_anothers_is_not_given_the_others_samples() -> None:
    """One Prometheus of a pair puts its own label on what it scrapes."""
    target = {"pod": "vllm-0", "instance": "10.0.0.1:8000"}
    counted = [
        series("vllm:num_preemptions_total", 7.0, engine="0", model_name="m", **target, **more)
        for more in ({}, {"replica": "b"})
    ]
    later = [
        Series(one.labels, one.points[2:])
        for one in engine("vllm-0", "10.0.0.1:8000", 1, replica="b")
    ]
    found = recorded(engine("vllm-0", "10.0.0.1:8000"), later, counted)
    assert len(found.replicas) == 1
    pages = [scrape.text for scrape in found.replicas[0].scrapes]
    assert all(
        page.count("vllm:num_requests_running{") == page.count("num_preemptions_total{") == 1
        for page in pages
    )
    assert not any("replica=" in page for page in pages)
