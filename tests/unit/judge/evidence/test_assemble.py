"""From a recording to a diagnosis: which log counts, and what is said about a version that cannot
be right.
"""

from __future__ import annotations

import pytest

from barostat.core.diagnosis import ReplicaReport
from barostat.engines.vllm.logs.digest import LogDigest, digest
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import (
    GpuText,
    ProbeResult,
    Recording,
    ReplicaRecording,
    Scrape,
)

AT = 1_795_253_041.0
BANNER = "INFO 11-21 08:00:00 [api_server.py:1] vLLM API server version 0.32.0"
CORE = (
    "INFO 11-21 08:00:05 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config: model='m'"
)
READY = "INFO 11-21 08:02:00 [api_server.py:1] Application startup complete."
REFUSED = "vllm: error: unrecognized arguments: --swap-space 16"
NO_BLOCKS = (
    "ValueError: No available memory for the cache blocks. Try increasing "
    "`gpu_memory_utilization` when initializing the engine."
)
CARRIES_ON = (
    'vllm:num_requests_running{engine="0",model_name="m"} '
    '0\nvllm:num_requests_waiting{engine="0",model_name="m"} 0\n'
)


def log(*lines: str) -> LogDigest:
    return digest(lines, source="a.log")


def report(**known: object) -> ReplicaReport:
    return diagnose(Recording("test", AT, (ReplicaRecording("a", **known),))).replicas[0]  # type: ignore[arg-type]


def test_a_crash_loop_is_named_by_the_log_of_the_start_before() -> None:
    for current in (None, log(), log(BANNER, CORE)):
        found = report(log=current, previous_log=log(REFUSED)).diagnosis
        assert (found.cause, found.variant) == ("bad-config", "argument")
    found = report(log=log(BANNER, CORE), previous_log=log(BANNER, CORE, NO_BLOCKS)).diagnosis
    assert (found.cause, found.variant) == ("kv-pool-too-small", "no-blocks")


def test_a_start_that_got_further_than_the_one_before_is_judged_by_itself() -> None:
    came_up = report(log=log(BANNER, CORE, READY), previous_log=log(REFUSED)).diagnosis
    answers = report(
        scrapes=(Scrape(AT - 5, CARRIES_ON, "x"), Scrape(AT, CARRIES_ON, "x")),
        previous_log=log(REFUSED),
    ).diagnosis
    other = report(log=log(BANNER, CORE, NO_BLOCKS), previous_log=log(REFUSED)).diagnosis
    assert came_up.cause != "bad-config"
    assert answers.cause != "bad-config"
    assert other.cause == "kv-pool-too-small"


DIED = (
    "2026-11-{}T{}:00.000000000Z ERROR 11-21 08:00:00 [core.py:1] torch.OutOfMemoryError: CUDA "
    "out of memory. Tried to allocate 2.00 GiB."
)


@pytest.mark.parametrize(
    ("died", "answers", "cause"),
    [
        (("21", "08:30"), True, "gpu-oom"),
        (("18", "08:30"), True, "healthy-idle"),
        (("18", "08:30"), False, "gpu-oom"),
    ],
)
def test_what_ended_a_life_days_ago_is_not_what_is_wrong_with_an_engine_that_works_since(
    died: tuple[str, str], answers: bool, cause: str
) -> None:
    day, clock = died
    scrapes = (Scrape(AT - 5, CARRIES_ON, "x"), Scrape(AT, CARRIES_ON, "x")) if answers else ()
    found = report(scrapes=scrapes, previous_log=log(DIED.format(day, clock)))
    assert found.diagnosis.cause == cause


def test_a_life_long_before_in_the_same_log_is_outlived_too() -> None:
    lines = [
        f"2026-11-18T08:0{minute}:00Z {line}" for minute, line in enumerate((BANNER, CORE, READY))
    ]
    later = [
        f"2026-11-18T09:0{minute}:00Z {line}" for minute, line in enumerate((BANNER, CORE, READY))
    ]
    whole = log(*lines, DIED.format("18", "08:30"), *later)
    scrapes = (Scrape(AT - 5, CARRIES_ON, "x"), Scrape(AT, CARRIES_ON, "x"))
    assert report(scrapes=scrapes, log=whole).diagnosis.cause == "healthy-idle"
    assert (
        report(log=log(*lines, DIED.format("18", "08:30"), *later[:2])).diagnosis.cause == "gpu-oom"
    )


def busy(at: float, tokens: int) -> Scrape:
    """A page of an engine that works, and whose server counts what it answers."""
    labels = '{engine="0",model_name="m"}'
    figures = {
        "num_requests_running": 4,
        "num_requests_waiting": 0,
        "kv_cache_usage_perc": 0.2,
        "generation_tokens_total": tokens,
    }
    page = "".join(f"vllm:{name}{labels} {value}\n" for name, value in figures.items())
    return Scrape(
        at,
        f'{page}vllm:admission_rejections_total{{model_name="m",reason="max_num_queued_reqs"}} 7\n',
        "x",
    )


@pytest.mark.parametrize(
    ("turned_away", "cause"), [("09:23", "unknown"), ("04:10", "healthy-busy")]
)
def test_requests_turned_away_hours_ago_are_no_harm_of_now(turned_away: str, cause: str) -> None:
    lines = [
        f"2026-11-21T03:0{minute}:00Z {line}" for minute, line in enumerate((BANNER, CORE, READY))
    ]
    full = (
        f"2026-11-21T{turned_away}:00Z INFO 11-21 {turned_away}:00 [async_llm.py:1] Request "
        "queue full: 64 requests are queued"
    )
    scrapes = tuple(busy(AT - 5 * (3 - place), 1000 + 500 * place) for place in range(4))
    assert report(scrapes=scrapes, log=log(*lines, full)).diagnosis.cause == cause


def test_an_empty_log_rules_nothing_out() -> None:
    found = report(log=log())
    assert found.diagnosis.cause == "unknown"
    assert found.ruled_out == ()


@pytest.mark.parametrize(
    ("version", "server", "words"),
    [
        ("0.40.1", None, "vLLM 0.40.1 is newer than the newest that is known here"),
        ("latest", None, "'latest' is no version of vLLM; left out"),
        ("latest", "0.32.0", "'latest' is no version of vLLM; 0.32.0 is taken, as the engine says"),
        ("0.11.0", "0.32.0", "the version is given as 0.11.0, and the engine itself says 0.32.0"),
        ("0.32.0", "0.32.0+cpu", ""),
        (None, "0.33.2", ""),
    ],
)
def test_a_version_that_cannot_be_right_is_said(
    version: str | None, server: str | None, words: str
) -> None:
    probe = ProbeResult(AT, version=server) if server else None
    problems = " ".join(report(version=version, probe=probe, log=log("INFO starting")).problems)
    assert words in problems
    assert words or not problems


CARD = "0, NVIDIA H100 80GB HBM3, GPU-19c862e4, 74211, 81559, 98, 598.34, 700.00, 59, 0, 0"
FREE = (
    "INFO 11-21 08:01:00 [gpu_worker.py:1] Free memory on device ({}/{} GiB) on startup. "
    "Desired GPU memory utilization is (0.92, 1 GiB)"
)


@pytest.mark.parametrize(
    ("lines", "cards", "seqs", "certain"),
    [
        ((FREE.format("78.66", "79.18"),), (), 256, False),
        (
            (FREE.format("78.66", "79.18"),),
            (GpuText(AT, "nvidia-smi.csv", CARD, "gpu.csv"),),
            1024,
            True,
        ),
        ((FREE.format("138.9", "139.8"),), (), 1024, True),
        ((FREE.format("21.6", "22.03"),), (), 256, True),
    ],
)
def test_the_defaults_are_those_of_the_card_that_was_seen(
    lines: tuple[str, ...], cards: tuple[GpuText, ...], seqs: int, certain: bool
) -> None:
    replica = ReplicaRecording(
        "a", args=("--model", "m"), log=log(BANNER, CORE, *lines), gpu_texts=cards
    )
    found, problems = windows(Recording("test", AT, (replica,)), replica)
    (window,) = found.values()
    assert not problems
    value = window.config.get("max_num_seqs")
    assert value is not None
    assert (value.value, value.certain) == (seqs, certain)


EXPORTED = """\
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3",namespace="inference",pod="vllm-0"} 73000
DCGM_FI_DEV_FB_USED{gpu="1",UUID="GPU-b",modelName="NVIDIA L4",namespace="other",pod="other-0"} 10
"""


@pytest.mark.parametrize("name", ["vllm-0", "inference/vllm-0", "inference/vllm-0:8000"])
@pytest.mark.parametrize("listed", [True, False])
def test_the_card_of_a_pod_is_found_however_its_replica_is_called(name: str, listed: bool) -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "vllm-0", "namespace": "inference"},
        "spec": {"containers": [{"name": "vllm"}]},
    }
    replica = ReplicaRecording(
        name,
        version="0.32.0",
        args=("--model", "m"),
        gpu_texts=(GpuText(AT, "dcgm.prom", EXPORTED, "dcgm"),),
    )
    documents = {"pods": {"kind": "PodList", "items": [pod]}} if listed else {}
    found, problems = windows(Recording("test", AT, (replica,), kubernetes=documents), replica)
    (window,) = found.values()
    assert not [problem for problem in problems if "no card" in problem]
    assert window.signals["gpu_count"].last == 1
    limit = window.config.get("max_num_seqs")
    assert limit is not None
    assert (limit.value, limit.certain) == (1024, True)
