"""`barostat simulate`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from barostat.shells.cli.main import main


def _trace(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _rows(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"arrival_s": 0, "input_tokens": 100, "output_tokens": 120, **more} for _ in range(count)
    ]


def test_the_worked_example_of_preemption(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As run on 0.32.0: 4 requests of 100 tokens, 32 usable blocks; r3 preempted in the 30th step,
    r2 in the 63rd.
    """
    steps = tmp_path / "steps.jsonl"
    command = [
        "simulate",
        "--trace",
        _trace(tmp_path / "t.jsonl", _rows(4)),
        "--kv-blocks",
        "33",
        "--step-time",
        "1",
        "--steps-out",
    ]
    more = [
        "--max-model-len",
        "512",
        "--max-num-seqs",
        "16",
        "--max-num-batched-tokens",
        "256",
        "--no-async-scheduling",
    ]
    assert main([*command, str(steps), *more, "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    lines = [json.loads(line) for line in steps.read_text().splitlines()]
    assert [(line["step"], line["preempted"]) for line in lines if line["preempted"]][:2] == [
        (29, ["3"]),
        (62, ["2"]),
    ]
    assert "free_block_ids" not in lines[0]
    assert report["kind"] == "Simulation"
    assert report["requests"] == {
        "total": 4,
        "finished": 4,
        "rejected": 0,
        "unfinished": 0,
        "outputClamped": 0,
    }
    assert report["outputTokens"] == 480
    assert report["preemptions"] == sum(len(line["preempted"]) for line in lines)
    assert report["recomputedTokens"] > 0
    assert report["ttftSeconds"]["p50"] == 1
    assert report["kvUsage"]["maxRatio"] == 1


def test_clients_send_a_trace_in_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = tmp_path / "steps.jsonl"
    words = ["simulate", "--trace", _trace(tmp_path / "t.jsonl", _rows(6)), "--clients", "2"]
    words += ["--kv-blocks", "500", "--step-time", "1", "--steps-out", str(steps), "-o", "json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["durationSeconds"] >= 3 * 120
    written = [json.loads(line) for line in steps.read_text().splitlines()]
    assert max(len(step["scheduled"]) for step in written) == 2


def test_clients_without_a_trace_belong_to_an_engine(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--workload", "poisson:rate=1", "--kv-blocks", "50", "--step-time", "1"]
    assert main([*words, "--clients", "3"]) == 2
    assert "--clients: belongs to a running engine" in capsys.readouterr().err


def test_rejections_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        *_rows(3),
        {"arrival_s": 1, "input_tokens": 600, "output_tokens": 1, "request_id": "long"},
    ]
    command = [
        "simulate",
        "--trace",
        _trace(tmp_path / "t.jsonl", rows),
        "--kv-blocks",
        "100",
        "--step-time",
        "1",
    ]
    assert (
        main([*command, "--max-model-len", "512", "--max-queued-requests", "2", "-o", "json"]) == 1
    )
    rejections = json.loads(capsys.readouterr().out)["rejections"]
    assert [(one["requestId"], one["status"], one["reason"]) for one in rejections] == [
        ("2", 503, "max_num_queued_reqs"),
        ("long", 400, "context-length"),
    ]


def test_the_table_has_what_people_ask_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "simulate",
        "--trace",
        _trace(tmp_path / "t.jsonl", _rows(4)),
        "--kv-blocks",
        "33",
        "--step-time",
        "0.02",
    ]
    assert main([*command, "--max-model-len", "512", "--slo-ttft", "1"]) == 0
    shown = capsys.readouterr().out
    for name in (
        "Good requests",
        "TTFT",
        "ITL",
        "end to end",
        "KV usage",
        "Preemptions",
        "recomputed",
        "Prefix cache",
    ):
        assert name in shown


def test_the_same_seed_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "simulate",
        "--workload",
        "bursty:rate=2,minutes=3",
        "--kv-blocks",
        "900",
        "--latency",
        "base=0.01,prefill=1e-5,kv=1e-8",
    ]
    shown = []
    for seed in ("1", "1", "2"):
        assert main([*command, "--seed", seed, "-o", "json"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != shown[2]


def test_an_engine_of_a_model_and_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "simulate",
        "--workload",
        "poisson:rate=2,minutes=1",
        "--model-config",
        "meta-llama/Meta-Llama-3.1-8B",
        "--gpu",
        "H100",
    ]
    assert main([*command, "--max-model-len", "8192", "-o", "json"]) == 0
    output = capsys.readouterr()
    report = json.loads(output.out)
    assert 20_000 < report["settings"]["kvBlocks"] < 40_000
    assert report["settings"]["maxNumSeqs"] == 1024
    assert 0.003 < report["itlSeconds"]["p50"] < 0.03
    assert any("either way" in note for note in report["notes"])


def test_a_limits_file_fills_what_was_not_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = tmp_path / "limits.yaml"
    limits.write_text(
        "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec:\n  engine: "
        "{maxModelLen: 512, maxNumSeqs: 2, watermark: 0.05}\n"
        "  capacity: {kvCacheTokens: 1600, blockSize: 16}\n"
    )
    command = [
        "simulate",
        "--trace",
        _trace(tmp_path / "t.jsonl", _rows(4)),
        "--limits",
        str(limits),
        "--step-time",
        "1",
        "-o",
        "json",
    ]
    assert main([*command, "--max-num-seqs", "3"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (
        settings["kvBlocks"],
        settings["maxModelLen"],
        settings["maxNumSeqs"],
        settings["watermarkRatio"],
    ) == (101, 512, 3, 0.05)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--step-time", "1"], "--kv-blocks"),
        (["--kv-blocks", "50"], "--step-time"),
        (["--kv-blocks", "50", "--step-time", "0"], "--step-time"),
        (["--kv-blocks", "50", "--step-time", "1", "--latency", "base=1"], "keep one"),
        (["--kv-blocks", "99999999999999999", "--step-time", "1"], "at most 50,000,000"),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--max-num-batched-tokens", "0"],
            "--max-num-batched-tokens: ",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--max-model-len", "99999999999999999999"],
            "--max-model-len: ",
        ),
        (["--kv-blocks", "50", "--step-time", "1", "--hash-block-size", "0"], "--hash-block-size"),
        (["--kv-blocks", "50", "--step-time", "1", "--steps-detail"], "--steps-out"),
        (["--kv-blocks", "50", "--step-time", "1", "--slo-ttft", "-1"], "--slo-ttft"),
        (["--kv-blocks", "50", "--step-time", "1", "--gpu", "Voodoo2"], "--gpu Voodoo2: no card"),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--gpu", "H100"],
            "--gpu H100: has no effect without --model-config",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "-tp", "2"],
            "--tensor-parallel-size 2: has no effect without --model-config",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--clients", "0"],
            "--clients 0: must be at least 1",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--arrivals", "closed"],
            "--arrivals: belongs to a running engine",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--arrivals", "open"],
            "--arrivals: belongs to a running engine",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--log", "nofile"],
            "--log: belongs to a running engine",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--interval", "1s"],
            "--interval: belongs to a running engine",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--for", "10s"],
            "--for: belongs to a running engine",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "-n", "inference"],
            "--namespace: belongs to a running engine",
        ),
        (
            [
                "--model-config",
                "meta-llama/Meta-Llama-3.1-8B",
                "--gpu",
                "H100",
                "--sliding-window",
                "512",
            ],
            "--sliding-window: has no effect",
        ),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--block-size", "99999999999999999999"],
            "--block-size",
        ),
        (["--kv-blocks", "50", "--step-time", "1", "--engine-version", "0.8.0"], "0.12.0"),
        (
            ["--kv-blocks", "50", "--step-time", "1", "--steps-out", "/no/such/folder/f"],
            "/no/such/folder/f",
        ),
        (["--model-config", "meta-llama/Meta-Llama-3.1-8B", "--gpu", "Voodoo2"], "Voodoo2"),
        (["--model-config", "meta-llama/Meta-Llama-3.1-8B"], "--gpu"),
    ],
)
def test_what_is_missing_or_wrong_is_named(
    more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--trace", _trace(tmp_path / "t.jsonl", _rows(1)), *more]) == 2
    assert said in capsys.readouterr().err


def test_a_request_that_fits_nowhere_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "simulate",
        "--trace",
        _trace(tmp_path / "t.jsonl", _rows(1)),
        "--kv-blocks",
        "5",
        "--max-model-len",
        "512",
    ]
    assert main([*command, "--step-time", "1"]) == 1
    output = capsys.readouterr()
    assert "STUCK" in output.out
    assert "would not start" in " ".join(output.out.split())


def test_figures_of_a_card_come_with_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "simulate",
        "--workload",
        "poisson:rate=2,minutes=1",
        "--model-config",
        "meta-llama/Meta-Llama-3.1-8B",
        "--gpu",
        "H100",
    ]
    assert main([*command, "--max-model-len", "8192", "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    faster, slower = report["interval"]
    assert faster["itlSeconds"]["p50"] < report["itlSeconds"]["p50"] < slower["itlSeconds"]["p50"]


def test_a_page_that_cannot_be_written_is_said_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "simulate",
        "--trace",
        _trace(tmp_path / "t.jsonl", _rows(1)),
        "--kv-blocks",
        "33",
        "--step-time",
        "1",
    ]
    for flag in ("--html", "--steps-out"):
        assert main([*command, flag, str(tmp_path)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert f"{flag} {tmp_path}: cannot be written" in printed.err
    page = tmp_path / "page.html"
    assert main([*command, "--html", str(page), "--kv-blocks", "1"]) == 2
    assert not page.exists()
    page.write_text("before")
    assert main([*command, "--html", str(page), "--kv-blocks", "1"]) == 2
    assert page.read_text() == "before"


def test_one_of_a_thing_is_not_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"arrival_s": 0, "input_tokens": 100, "output_tokens": 500},
        {"arrival_s": 0, "input_tokens": 10, "output_tokens": 0},
    ]
    page = tmp_path / "page.html"
    command = [
        "simulate",
        "--trace",
        _trace(tmp_path / "t.jsonl", rows),
        "--kv-blocks",
        "33",
        "--step-time",
        "1",
        "--max-model-len",
        "512",
    ]
    assert main([*command, "--html", str(page)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(
        "t.jsonl\n1 request in 412 s; vLLM 0.32.0, 33 blocks of 16 tokens"
    )
    assert "1 output cut to max_model_len" in printed.out
    assert "left out 1 row with no output" in " ".join(printed.out.split())
    assert "1 request in " in page.read_text()


def test_a_version_that_nobody_read_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "--trace",
        _trace(tmp_path / "t.jsonl", _rows(1)),
        "--kv-blocks",
        "33",
        "--step-time",
        "1",
    ]
    for verb in (["simulate"], ["what-if", "--set", "max-num-seqs=2"]):
        for version, told in (("0.33.0", False), ("0.99.0", True)):
            assert main([*verb, *command, "--engine-version", version]) == 0
            assert (
                "vLLM 0.99.0 is newer than 0.33.0" in " ".join(capsys.readouterr().out.split())
            ) is told


def test_a_small_run_loads_little(tmp_path: Path) -> None:
    trace = _trace(tmp_path / "t.jsonl", _rows(1))
    code = (
        "import sys; from barostat.shells.cli.main import main; "
        f"main(['simulate', '--trace', {trace!r}, '--kv-blocks', '33', '--step-time', '1', "
        "'-o', 'json']); "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["kind"] == "Simulation"
    loaded = set(done.stderr.split())
    assert "barostat.twin.event_skipping.run" in loaded
    dear = {
        "asyncio",
        "ssl",
        "hashlib",
        "tempfile",
        "yaml",
        "httpx",
        "rich",
        "barostat.twin.scheduler.scheduler",
        "barostat.core.diagnosis",
    }
    assert not loaded & dear


def test_the_page_is_whole_and_says_nothing_unescaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from xml.etree import ElementTree

    trace = _trace(tmp_path / "a<b>&.jsonl", _rows(4))
    page = tmp_path / "page.html"
    command = [
        "simulate",
        "--trace",
        trace,
        "--kv-blocks",
        "33",
        "--step-time",
        "1",
        "--max-model-len",
        "512",
        "--html",
        str(page),
    ]
    assert main(command) == 0
    capsys.readouterr()
    text = page.read_text()
    assert "a&lt;b&gt;&amp;.jsonl" in text
    root = ElementTree.fromstring(text.removeprefix("<!doctype html>"))
    assert len(root.findall(".//polyline")) == 4
    assert len(root.findall(".//circle")) == 5
    assert main([*command[:-1], "/no/such/folder/page.html"]) == 2


MADE = [
    "simulate",
    "--workload",
    "poisson:rate=1,minutes=1",
    "--kv-blocks",
    "900",
    "--step-time",
    "0.1",
]
BUNDLE = Path(__file__).parents[4] / "data/bundles/slot-bound"


@pytest.mark.parametrize(
    "workload", ["poisson:rate=0.001,minutes=0.1", "sessions:rate=0.001,minutes=0.1"]
)
def test_a_made_workload_without_a_request_is_refused(
    workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("simulate", "what-if"):
        assert main([verb, "--workload", workload, *MADE[3:]]) == 2
        assert f"--workload {workload}: holds no request" in capsys.readouterr().err
    assert (
        main(["what-if", "--from", str(BUNDLE), "--workload", workload, "--latency", "base=0.02"])
        == 2
    )
    assert "holds no request" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([*MADE, "--hash-block-size", "16"], "--hash-block-size: has no effect without --trace"),
        (
            ["simulate", "--workload", f"live:{BUNDLE}", "--interval", "1s"],
            "--interval: has no effect on",
        ),
        (
            ["simulate", "--workload", f"live:{BUNDLE}", "--gpu", "Voodoo2"],
            "--gpu Voodoo2: no card",
        ),
        (
            ["simulate", "--workload", f"live:{BUNDLE}", "--clients", "3", "--arrivals", "open"],
            "keep one",
        ),
        (["simulate", "--workload", f"live:{BUNDLE}", "--clients", "0"], "must be at least 1"),
    ],
)
def test_an_option_that_cannot_act_is_refused(
    command: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "verb", [MADE, ["what-if", *MADE[1:]], ["tune", *MADE[1:]], ["twin", *MADE[3:]]]
)
@pytest.mark.parametrize("gpus", ["0", "-1", "two", "1.5"])
def test_a_number_of_gpus_is_at_least_one(
    verb: list[str], gpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb, f"--tensor-parallel-size={gpus}"]) == 2
    assert f"--tensor-parallel-size: '{gpus}' is no value that" in capsys.readouterr().err


def test_no_file_that_is_read_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = _trace(tmp_path / "t.jsonl", _rows(1))
    (tmp_path / "link").symlink_to(trace)
    before = Path(trace).read_text()
    command = ["simulate", "--trace", trace, "--kv-blocks", "33", "--step-time", "1"]
    for flag in ("--steps-out", "--html"):
        for name in ("t.jsonl", "../" + tmp_path.name + "/t.jsonl", "link"):
            assert main([*command, flag, name]) == 2
            assert f"{flag} {name}: is also the file of --trace" in capsys.readouterr().err
    assert Path(trace).read_text() == before
    assert main([*command, "--steps-out", "new", "--html", str(tmp_path / "new")]) == 2
    assert "is also the file of --steps-out" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert main([*command, "--steps-out", "/dev/null", "--html", "/dev/null"]) == 0


def test_a_trace_that_is_no_trace_is_told_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep, mixed = tmp_path / "deep.jsonl", tmp_path / "mixed.csv"
    deep.write_text('{"arrival_s": ' + "[" * 200_000 + "\n")
    mixed.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,1,1\noops,1,1\n")
    for path, said in (
        (deep, "deep.jsonl:1: no JSON: nested too deeply"),
        (mixed, "mixed.csv:3: TIMESTAMP 'oops' is no time"),
    ):
        assert (
            main(["simulate", "--trace", str(path), "--kv-blocks", "33", "--step-time", "1"]) == 2
        )
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("given", ["9" * 5000, "²", "0", "70000"])
def test_a_number_of_cards_that_cannot_be_is_refused(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--trace", "x", "-tp", given]) == 2
    said = capsys.readouterr().err
    assert "is no value that an engine can have" in said
    assert len(said) < 200


@pytest.mark.parametrize("given", ["9" * 5000, "²"])
def test_parallel_sizes_that_are_no_numbers_are_refused_in_a_sentence(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(
        ["plan", "--gpu", "2xH100", "--", "vllm", "serve", "Qwen/Qwen3-8B", "-tp", given]
    ) in (1, 2)
    assert "bug" not in capsys.readouterr().err
