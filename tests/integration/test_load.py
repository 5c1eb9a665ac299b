"""`barostat load` and `barostat validate` against the twin and the real vLLM: counted right,
honest, gone at once, nothing left.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dev.engine import Engine
from dev.gateway_process import GatewayProcess
from dev.load import Background, Load
from dev.twin_engine import BAROSTAT, TwinEngine

from barostat.engines.vllm.metrics.exposition import read

PACE = "base=0.004,prefill=0.00001,decode=0.0001"
LIMITS = """apiVersion: barostat.dev/v1alpha1
kind: ServingLimits
metadata: {{name: tiny}}
spec:
  model: tiny
  request: {{maxInputTokens: {input}, maxOutputTokens: {output}}}
  engine: {{maxNumSeqs: {slots}}}
  slo: {{ttftP99Seconds: {ttft}, itlP99Seconds: 1.0}}
"""


@pytest.fixture(scope="module")
def twin() -> Iterator[TwinEngine]:
    with TwinEngine(
        "--max-num-seqs", "32", "--num-gpu-blocks-override", "100", latency=PACE
    ) as engine:
        engine.wait_ready()
        yield engine


def ran(*words: str | Path, within_s: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BAROSTAT), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )


def decided(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A validation that could tell: on a machine that others use too, a sender may not keep up, and
    then says so.
    """
    for _ in range(3):
        done = ran(*words)
        if done.returncode != 3:
            break
    return done


def document(done: subprocess.CompletedProcess[str], *codes: int) -> dict[str, Any]:
    assert done.returncode in (codes or (0, 1)), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def limits(folder: Path, **values: float) -> Path:
    path = folder / "limits.yaml"
    path.write_text(
        LIMITS.format(**{"input": 300, "output": 40, "slots": 8, "ttft": 5.0, **values})
    )
    return path


def metric(url: str, name: str) -> float:
    exposition = read(httpx.get(url + "/metrics", timeout=10).text)
    return sum(sample.value for sample in exposition.named(name))


def idle(url: str, within_s: float = 10) -> None:
    deadline = time.monotonic() + within_s
    while metric(url, "vllm:num_requests_running") + metric(url, "vllm:num_requests_waiting"):
        assert time.monotonic() < deadline, "requests run that nobody waits for"
        time.sleep(0.1)


def test_what_was_sent_is_what_the_engine_counts(twin: TwinEngine) -> None:
    names = (
        "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total",
        "vllm:prefix_cache_hits_total",
    )
    before = [metric(twin.url, name) for name in names]
    told = document(
        ran(
            "load",
            twin.url,
            "--workload",
            "poisson:rate=20,input=150,output=30",
            "--for",
            "4s",
            "-o",
            "json",
        )
    )
    prompt, produced, hits = (
        metric(twin.url, name) - earlier for name, earlier in zip(names, before, strict=True)
    )
    counts, rates = told["requests"], told["throughput"]
    assert counts["sent"] == counts["ok"] > 40
    assert told["inputTokensOffRatio"] == 0
    assert rates["inputTokensPerSecond"] * told["durationSeconds"] == pytest.approx(
        prompt - 48, rel=1e-4
    )  # 48: the question before it
    assert rates["outputTokensPerSecond"] * told["durationSeconds"] == pytest.approx(
        produced - 1, rel=1e-4
    )
    assert hits == 0
    assert told["itlSeconds"]["count"] > 100


def test_closed_loop_keeps_so_many_under_way(twin: TwinEngine) -> None:
    found = document(
        ran(
            "load",
            twin.url,
            "--workload",
            "poisson:input=50,output=30",
            "--concurrency",
            "12",
            "--for",
            "3s",
            "-o",
            "json",
        )
    )
    assert found["requests"]["mostAtOnce"] == 12
    assert found["requests"]["ok"] > 24
    assert found["engine"]["runningMax"] <= 12


def test_a_chat_server_gets_words_of_the_stated_number_of_tokens(twin: TwinEngine) -> None:
    spec = "poisson:rate=10,input=400,output=5,spread=0"
    found = document(
        ran("load", twin.url, "--api", "chat", "--workload", spec, "--for", "2s", "-o", "json")
    )
    assert abs(found["inputTokensOffRatio"]) < 0.02
    assert any("words" in note for note in found["notes"])


def test_ctrl_c_stops_at_once_tells_what_there_is_and_leaves_nothing(twin: TwinEngine) -> None:
    spec = "poisson:rate=10,input=50,output=400"
    process = subprocess.Popen(
        [str(BAROSTAT), "load", twin.url, "--workload", spec, "--for", "60s", "-o", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not metric(twin.url, "vllm:num_requests_running"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(0.5)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    assert time.monotonic() - asked < 3
    assert process.returncode == 130
    found = json.loads(out)
    assert found["interrupted"] is True
    assert found["requests"]["cut"] > 0
    idle(twin.url)


def test_it_is_not_aimed_at_what_serves_others_unless_told_so(twin: TwinEngine) -> None:
    with Background(twin.url, Load(clients=2, prompt_tokens=(50, 60), output_tokens=(50, 60))):
        time.sleep(1)
        before = metric(twin.url, "vllm:request_success_total")
        done = ran("load", twin.url, "--workload", "poisson:rate=5", "--for", "2s")
        assert done.returncode == 5
        assert "--allow-live-traffic" in done.stderr
        assert done.stdout == ""
        told = ran(
            "load",
            twin.url,
            "--workload",
            "poisson:rate=5,input=20,output=5",
            "--for",
            "1s",
            "--even-though-it-serves",
        )
        assert told.returncode in (0, 1), told.stderr
        assert metric(twin.url, "vllm:request_success_total") > before
    idle(twin.url)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["http://127.0.0.1:1", "--workload", "poisson"], 4, "refuses the connection"),
        (["URL", "--workload", "nonsense"], 2, "is no workload"),
        (
            ["URL", "--workload", "poisson", "--model", "other"],
            2,
            "is not served there; there is tiny",
        ),
        (["URL", "--workload", "poisson", "--rate", "0"], 2, "--rate"),
        (["URL", "--workload", "closed:clients=2", "--rate", "2"], 2, "--concurrency"),
        (["URL", "--trace", "/nowhere.csv"], 2, "/nowhere.csv"),
    ],
)
def test_bad_input_is_one_sentence(
    twin: TwinEngine, words: list[str], code: int, told: str
) -> None:
    done = ran("load", *(twin.url if word == "URL" else word for word in words))
    assert done.returncode == code
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_validate_tells_good_limits_from_bad_and_certifies_what_check_asks_for(
    twin: TwinEngine, tmp_path: Path
) -> None:
    certificate = tmp_path / "limits.certificate.json"
    good = limits(tmp_path)
    done = decided(
        "validate",
        twin.url,
        "--limits",
        good,
        "--phase",
        "2s",
        "--certificate",
        certificate,
        "-o",
        "junit",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'failures="0"' in done.stdout
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, "
        "image: 'vllm/vllm-openai:v0.32.0', "
        "args: ['--model', 'tiny', '--max-num-seqs=8']}]}}"
    )
    assert "not-load-tested" not in ran("check", tmp_path, "--profile", "strict").stdout
    bad = limits(tmp_path, slots=32, input=2000, output=800)
    assert "were changed after their load test" in ran("check", tmp_path).stdout
    done = decided(
        "validate", twin.url, "--limits", bad, "--phase", "2s", "--drain", "20s", "-o", "json"
    )
    found = document(done, 1)
    assert found["verdict"] == "fail"
    assert any(
        check["name"] == "preemptions" and check["standing"] == "fail" for check in found["checks"]
    )
    idle(twin.url)


def test_what_answers_nothing_is_not_asked_for_minutes(twin: TwinEngine, tmp_path: Path) -> None:
    strict = tmp_path / "strict"
    strict.mkdir()
    with GatewayProcess(strict, "request: {maxInputTokens: 100}", twin.url) as gateway:
        began = time.monotonic()
        done = ran(
            "validate",
            gateway.url,
            "--limits",
            limits(tmp_path, slots=4),
            "--phase",
            "1s",
            "--knee",
        )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL" in done.stdout
    assert "mixed" not in done.stdout
    assert time.monotonic() - began < 60


def test_the_knee_is_an_interval_as_narrow_as_asked(twin: TwinEngine, tmp_path: Path) -> None:
    file = limits(tmp_path, slots=32, ttft=0.5)
    words = (
        "validate",
        twin.url,
        "--limits",
        file,
        "--phase",
        "5s",
        "--knee",
        "--within",
        "0.2",
        "-o",
        "json",
    )
    for _ in range(
        3
        # on a machine that others use too the sender may not keep up, and then the search ends with
        # what it has
    ):
        knee = document(ran(*words, within_s=240), 0, 1, 3)["knee"]
        if not any(one["unsure"] for one in knee["tried"]):
            break
    assert knee["heldPerSecond"] is not None
    assert knee["lostPerSecond"] <= knee["heldPerSecond"] * 1.2001
    lost = [one["requestsPerSecond"] for one in knee["tried"] if one["lost"]]
    assert min(lost) == knee["lostPerSecond"]


@pytest.mark.alone
def test_the_real_engine_is_measured_as_it_counts(
    engine_factory: Callable[..., Engine], tmp_path: Path
) -> None:
    engine = engine_factory("--max-num-seqs", "8", "--num-gpu-blocks-override", "70")
    before = metric(engine.url, "vllm:generation_tokens_total")
    told = document(
        ran(
            "load",
            engine.url,
            "--workload",
            "poisson:rate=3,input=100,output=20",
            "--for",
            "6s",
            "-o",
            "json",
        )
    )
    assert told["requests"]["ok"] == told["requests"]["sent"] > 5
    assert told["inputTokensOffRatio"] == 0
    produced = metric(engine.url, "vllm:generation_tokens_total") - before
    assert told["throughput"]["outputTokensPerSecond"] * told["durationSeconds"] == pytest.approx(
        produced - 1, rel=1e-3
    )
    good = decided(
        "validate",
        engine.url,
        "--limits",
        limits(tmp_path, slots=4, output=160, ttft=20),
        "--phase",
        "6s",
    )
    assert good.returncode == 0, good.stdout + good.stderr
    bad = decided(
        "validate",
        engine.url,
        "--limits",
        limits(tmp_path, slots=4, output=160, ttft=0.01),
        "--phase",
        "6s",
    )
    assert bad.returncode == 1, bad.stdout + bad.stderr
