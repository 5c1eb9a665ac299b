"""`barostat diagnose` and `explain` as a person meets them: exit codes, one clear sentence, the
JSON contract.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from tests.support.small_servers import answer, serving, vllm

from barostat.core.diagnosis import Diagnosis, Forecast, ReplicaReport, Report
from barostat.shells.cli.diagnose.diagnose import exit_code
from barostat.shells.cli.main import main
from barostat.shells.reports.rule_pages import pages

STARTED = "INFO 11-21 08:00:00 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config\n"
REFUSED = STARTED + "vllm: error: unrecognized arguments: --swap-space 4\n"
AT = 1_760_000_000


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    path = tmp_path / "vllm.log"
    path.write_text(REFUSED)
    return path


def scrape(usage: float, running: int, waiting: int, preempted: int, generated: int) -> str:
    labels = '{engine="0",model_name="m"}'
    return "\n".join(
        [
            f"vllm:kv_cache_usage_perc{labels} {usage}",
            f"vllm:num_requests_running{labels} {running}",
            f"vllm:num_requests_waiting{labels} {waiting}",
            f"vllm:num_preemptions_total{labels} {preempted}",
            f"vllm:generation_tokens_total{labels} {generated}",
            f"vllm:prompt_tokens_total{labels} {generated}",
            (
                f'vllm:request_success_total{{engine="0",finished_reason="length",model_name="m"}} '
                f"{generated // 100}"
            ),
            "",
        ]
    )


@pytest.fixture
def thrashing(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    (folder / "metrics" / "vllm-0").mkdir(parents=True)
    for step in range(5):
        text = scrape(0.99, 20, 15, 30 * step, 1000 * step)
        (folder / "metrics" / "vllm-0" / f"{AT + 5 * step}.prom").write_text(text)
    replica = {"name": "vllm-0", "version": "0.32.0", "args": ["--max-num-seqs", "256"]}
    document = {
        "apiVersion": "barostat.dev/v1alpha1",
        "kind": "Bundle",
        "engine": "vllm",
        "replicas": [replica],
    }
    (folder / "bundle.yaml").write_text(yaml.safe_dump(document))
    return folder


def test_thrash_in_a_bundle_is_named_and_no_classic_mistake_is_advised(
    thrashing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", "--bundle", str(thrashing), "-o", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["apiVersion"] == "barostat.dev/v1alpha1"
    assert report["kind"] == "DiagnosisReport"
    (replica,) = report["replicas"]
    assert replica["diagnosis"]["cause"] == "kv-preemption-thrash"
    assert replica["engine"] == {"name": "vllm", "version": "0.32.0"}
    changes = [step["change"] for step in replica["next"]]
    assert changes
    assert not any("swap-space" in change for change in changes)
    seqs = [
        int(change.split()[-1])
        for change in changes
        if change.startswith(("--max-num-seqs", "--max-num-active-seqs"))
    ]
    assert all(value < 20 for value in seqs)


def test_the_contract_has_its_keys(thrashing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "--bundle", str(thrashing), "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    replica = report["replicas"][0]
    wanted = {
        "name",
        "engine",
        "diagnosis",
        "forecast",
        "contributing",
        "ruledOut",
        "symptoms",
        "missing",
        "next",
    }
    assert wanted <= set(replica)
    assert {"cause", "variant", "severity", "confidence", "scope", "trigger", "summary"} <= set(
        replica["diagnosis"]
    )
    assert set(report["fleet"]) == {"diagnosis"}
    for symptom in replica["symptoms"]:
        assert {"name", "verdict", "evidence", "reason"} <= set(symptom)
        assert symptom["verdict"] in ("Present", "Absent", "Unknown")
        for item in symptom["evidence"]:
            assert {"signal", "value", "unit", "ageSeconds", "source"} <= set(item)
    assert {item["cause"] for item in replica["ruledOut"]}.isdisjoint(
        {replica["diagnosis"]["cause"]}
    )


STATISTICS = (
    "INFO 11-21 09:00:{second:02d} [loggers.py:273] Engine 000: Avg prompt throughput: "
    "480.0 tokens/s, Avg generation throughput: "
    "460.0 tokens/s, Running: 56 reqs, Waiting: 71 reqs, GPU KV cache usage: 98.5%, Prefix "
    "cache hit rate: 0.0%\n"
)


@pytest.mark.parametrize("form", ["table", "md", "json", "html"])
def test_what_a_log_does_not_count_is_not_ruled_out(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full pool and a queue before it: whether what runs is thrown out again is in no line of
    it.
    """
    log = tmp_path / "engine.log"
    start = "INFO 11-21 08:59:00 [api_server.py:1] vLLM API server version 0.26.0\n"
    log.write_text(start + "".join(STATISTICS.format(second=second) for second in range(0, 60, 10)))
    assert main(["diagnose", "--log", str(log), "-o", form]) == 1
    told = " ".join(capsys.readouterr().out.split())
    if form != "json":
        assert "preemptions were not measured; two scrapes of /metrics would count them" in told
        return
    (replica,) = json.loads(told)["replicas"]
    assert replica["diagnosis"]["cause"] == "kv-admission-queueing"
    assert [item["cause"] for item in replica["notRuledOut"]] == ["kv-preemption-thrash"]
    assert not [text for text in replica["missing"] if text.startswith("the engine's log")]


@pytest.mark.parametrize("form", ["table", "wide", "md", "yaml"])
def test_every_form_names_the_cause(
    form: str, thrashing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", "--bundle", str(thrashing), "-o", form]) == 1
    assert "kv-preemption-thrash" in capsys.readouterr().out


def test_the_same_bundle_gives_the_same_bytes(
    thrashing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["diagnose", "--bundle", str(thrashing), "-o", "json"])
    first = capsys.readouterr().out
    main(["diagnose", "--bundle", str(thrashing), "-o", "json"])
    assert capsys.readouterr().out == first


def test_a_log_alone_is_enough(refused: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--log", str(refused), "-o", "json"]) == 1
    diagnosis = json.loads(capsys.readouterr().out)["replicas"][0]["diagnosis"]
    assert (diagnosis["cause"], diagnosis["variant"]) == ("bad-config", "argument")


def test_exit_zero_silences_findings_only(refused: Path, tmp_path: Path) -> None:
    assert main(["diagnose", "--log", str(refused), "--exit-zero"]) == 0
    assert main(["diagnose", "--bundle", str(tmp_path / "none"), "--exit-zero"]) == 2


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--bundle", "/nonexistent"], "/nonexistent"),
        (["--bundle", ".", "http://127.0.0.1:1"], "--bundle"),
        (["http://127.0.0.1:1", "http://127.0.0.1:2", "--pid", "1"], "one URL"),
        (["--log", "/nonexistent.log"], "/nonexistent.log"),
        (["deploy/vllm", "http://127.0.0.1:1"], "not at once"),
        (["deploy/vllm", "-A"], "-A"),
        (["deploy/vllm", "-l", "app=vllm"], "a name or a selector"),
        (["deploy/vllm", "--log", "vllm.log"], "--log"),
        (["http://127.0.0.1:1", "-n", "inference"], "--namespace"),
        (["deploy/vllm", "--kubeconfig", "/nonexistent"], "/nonexistent"),
        (["deploy/Not A Name", "--kubeconfig", "pyproject.toml"], "kubeconfig"),
    ],
)
def test_a_usage_error_is_one_sentence(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", *argv]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["diagnose", "http://127.0.0.1:1", "-o", "sarif"], "invalid choice: 'sarif'"),
        (["diagnose", "http://127.0.0.1:1", "--for", "soon"], "write 30s, 2m or 500ms"),
        (
            ["diagnose", "http://127.0.0.1:1", "--interval", "0s"],
            "'0s' is too short; write 100ms or more",
        ),
        (["mitigate", "deploy/vllm", "--interval", "50ms"], "write 100ms or more"),
        (["verify", "deploy/vllm", "--interval", "0s"], "write 100ms or more"),
        (["collect", "http://127.0.0.1:1"], "--out"),
    ],
)
def test_a_wrong_argument_is_one_sentence_too(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("edge-admission-budget", "edge-admission-budget (lever)"),
        ("OOM_killed", "oom-killed (symptom)"),
        ("kv-preempton-thrash", "did you mean kv-preemption-thrash"),
        ("zz", "`barostat explain` lists the names"),
    ],
)
def test_every_name_in_a_report_can_be_explained(
    name: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["explain", name])
    said = capsys.readouterr()
    assert says in (said.out if code == 0 else said.err)


def test_nobody_listening_is_the_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "http://127.0.0.1:9", "--for", "0s"]) == 4
    said = capsys.readouterr().err
    assert "127.0.0.1:9" in said
    assert said.count("\n") == 1


def test_a_path_that_leaves_the_archive_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "evil.tar.gz"
    payload = tmp_path / "x.log"
    payload.write_text("hello\n")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(payload, arcname="../../logs/r.log")
    assert main(["diagnose", "--bundle", str(archive)]) == 2
    assert ".." in capsys.readouterr().err


def test_a_broken_pipe_and_help_are_quiet() -> None:
    command = f"{sys.executable} -m barostat.shells.cli.main explain | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("causes")


@pytest.mark.parametrize(
    ("into", "code", "says"),
    [
        (">&-", 0, ""),
        (">&- 2>&-", 0, ""),
        (">/dev/full", 4, "barostat: the output could not be written: No space left on device\n"),
    ],
)
def test_an_output_that_cannot_be_written_is_no_bug(into: str, code: int, says: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m barostat.shells.cli.main explain {into}"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (code, says)


@pytest.mark.parametrize("name", list(pages()))
def test_explain_has_a_page_for_every_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    said = capsys.readouterr().out
    assert said.startswith(name)
    assert (
        {"(lever)": "Not when:", "(rule)": "Good:"}.get(
            said.split()[1].rstrip(":"), "Not evidence:"
        )
    ) in said


def test_a_page_is_as_wide_as_the_terminal_and_its_examples_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["explain", "unbounded-queue"]) == 0
    narrow = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["explain", "unbounded-queue"]) == 0
    wide = capsys.readouterr().out
    assert narrow.split() == wide.split()
    assert max(len(line) for line in wide.splitlines() if not line.startswith(" ")) <= 120
    assert max(len(line) for line in narrow.splitlines()[1:] if not line.startswith(" ")) <= 60
    assert [line for line in narrow.splitlines() if line.startswith(" ")] == [
        line for line in wide.splitlines() if line.startswith(" ")
    ]


def test_an_idle_engine_whose_health_is_an_error_is_not_called_healthy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = {
        status: vllm(metrics=answer(scrape(0.0, 0, 0, 0, 900)), health=answer("", status))
        for status in ("200 OK", "500 Oh")
    }
    told = {}
    for status, server in asked.items():
        with serving(server) as (port, _):
            code = main(["diagnose", f"http://localhost:{port}", "--for", "0s", "-o", "json"])
        told[status] = code, json.loads(capsys.readouterr().out)["replicas"][0]["diagnosis"]
    assert (told["200 OK"][0], told["200 OK"][1]["cause"]) == (0, "healthy-idle")
    code, diagnosis = told["500 Oh"]
    assert (code, diagnosis["cause"], diagnosis["severity"]) == (3, "unknown", "critical")
    assert "/health does not answer 200" in diagnosis["summary"]


def test_explain_suggests_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "kv-preemtion-thrash"]) == 2
    assert "kv-preemption-thrash" in capsys.readouterr().err


def replica(
    cause: str, *, unreachable: bool = False, exhaustion: float | None = None
) -> ReplicaReport:
    diagnosis = Diagnosis(cause, "info", 0.5, "")  # type: ignore[arg-type]
    return ReplicaReport("r", "", diagnosis, Forecast(exhaustion), (), unreachable=unreachable)


@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        ([replica("healthy-idle")], 0),
        ([replica("healthy-busy", exhaustion=40.0)], 1),
        ([replica("slot-bound")], 1),
        ([replica("unknown")], 3),
        ([replica("unknown", unreachable=True)], 4),
        ([replica("healthy-idle"), replica("unknown")], 3),
        ([replica("unknown"), replica("unknown", unreachable=True)], 4),
        ([replica("unknown", unreachable=True), replica("slot-bound")], 1),
        ([], 3),
    ],
)
def test_the_exit_code_is_the_first_that_occurs_of_1_4_3_0(
    replicas: list[ReplicaReport], code: int
) -> None:
    assert (
        exit_code(Report(0.0, "t", tuple(replicas), Diagnosis("unknown", "info", 0.0, ""))) == code
    )
