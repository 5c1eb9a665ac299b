"""`make gpu` from end to end, without a card: on the twin, on a pretended card, and in part on the
real vLLM's CPU build.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dev.engine import ROOT
from tests.support.pretended_card import NAME, TOTAL_MIB, pretended_card

COMMAND = (sys.executable, "-m", "dev.gpu")
SHORT = [
    "default", "kv-preemption-thrash", "pace", "pool-too-small", "kv-pool-too-small", "forecast-today", "forecast-first", "demo",
    "gpu-oom-serving",
]  # fmt: skip


@pytest.fixture
def temporary() -> Iterator[Path]:
    """The run's folder for temporary files. Its name is short: sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="gpu-", dir="/tmp") as folder:
        yield Path(folder)


def started(
    out: Path, temporary: Path, *options: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """The command, whose temporary files are in `temporary` and whose files are in `out`."""
    environment = {**(env or os.environ), "TMPDIR": str(temporary)}
    command = [*COMMAND, "--out", str(out), *options]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    out: Path, temporary: Path, *options: str, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command."""
    with started(out, temporary, *options, env=env) as process:
        said, told = process.communicate(timeout=400)
    return process.returncode, said, told


def left_over(temporary: Path) -> list[str]:
    """What is there of a run: its processes, by the folder that they were given for temporary
    files, and what is in that folder.
    """
    found = [str(path.relative_to(temporary)) for path in temporary.iterdir()]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={temporary}".encode() in (folder / "environ").read_bytes():
                found.append(
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
        except OSError:
            continue
    return found


def nothing_is_left(temporary: Path, within_s: float = 15.0) -> None:
    """Soon no process and no temporary file of the run is there."""
    deadline = time.monotonic() + within_s
    while (found := left_over(temporary)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not found


def rows(out: Path, file: str) -> list[dict[str, Any]]:
    """The rows of one of its files."""
    path = out / file
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def until_in(process: subprocess.Popen[str], item: str) -> None:
    """The run is in the midst of that item."""
    assert process.stderr is not None
    for line in process.stderr:
        if f" {item} (" in line:
            return
    raise AssertionError(f"{item} was never begun")


def bench_reads(*command: str) -> str:
    """What one of the benchmarks says of a file."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_whole_of_it_on_the_twin_killed_in_the_midst_and_gone_on_with(
    tmp_path: Path, temporary: Path
) -> None:
    out = tmp_path / "out"
    options = ("--on-twin", "--only", ",".join(SHORT))
    with started(out, temporary, *options) as process:
        until_in(process, "kv-preemption-thrash")
        time.sleep(4)
        assert len(left_over(temporary)) >= 3  # it, its engine, and who ends that
        process.kill()
    nothing_is_left(temporary)
    assert [row["id"] for row in rows(out, "items.jsonl")] == ["default"]

    code, said, told = run(out, temporary, *options)
    assert code == 0, told
    nothing_is_left(temporary)
    assert said.startswith("8 done, 1 were done before, of 9\n"), said + told
    assert {row["id"]: row["outcome"] for row in rows(out, "items.jsonl")} == dict.fromkeys(
        SHORT, "done"
    )
    states = rows(out, "states.jsonl")
    assert len(states) == 3
    assert all(row["right"] for row in states), states
    assert not list(out.rglob(".*"))
    assert "kv-preemption-thrash" in (out / "demo.txt").read_text()
    today, first = rows(out, "forecast.jsonl")
    assert today["cause"] == "kv-preemption-thrash"
    assert first["change"] == today["proposals"][0]["change"]
    assert first["measured"]["tokens_per_s"] > 0 < first["forecast"]["tokens_per_s"]
    _both_benchmarks_read(out, tmp_path)

    code, said, _ = run(out, temporary, *options)
    assert code == 0
    assert said.startswith("0 done, 9 were done before, of 9\n")


def _both_benchmarks_read(out: Path, tmp_path: Path) -> None:
    """The start-ups as they are; the points as if they were a card's, which a benchmark of step
    times asks for.
    """
    read = bench_reads(
        "bench/sizing_public.py",
        "--rows",
        str(out / "startups.yaml"),
        "--configs",
        str(out / "models"),
    )
    assert "plain rows: tokens within 1 % for 2 of 2" in read
    assert "pool-too-small" in read
    assert "refused" in read
    assert "WRONG" not in read
    on_card = tmp_path / "pace.jsonl"
    on_card.write_text(
        "".join(json.dumps(row | {"gpu": NAME}) + "\n" for row in rows(out, "pace.jsonl"))
    )
    read = bench_reads(
        "bench/pace.py", str(on_card), "--models", str(out / "models"), "--as-shipped"
    )
    assert "shape-small bf16 on 1 x NVIDIA, 8 clients, 512/64" in read


def test_an_interruption_ends_it_at_once_with_what_is_done(tmp_path: Path, temporary: Path) -> None:
    out = tmp_path / "out"
    with started(
        out, temporary, "--on-twin", "--only", "default,kv-preemption-thrash,slot-bound"
    ) as process:
        until_in(process, "kv-preemption-thrash")
        time.sleep(3)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        said, told = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert process.returncode == 130, told
    assert said.startswith("1 done, 0 were done before, of 3\n")
    nothing_is_left(temporary)


def test_a_pretended_card_is_gone_through_as_a_card_is(tmp_path: Path, temporary: Path) -> None:
    """All that is special to a card: its tool, its vLLM, its shapes, its blocks, its start-ups
    beside the plan.
    """
    env = pretended_card(tmp_path / "card", options="--fault oom@8s")
    out = tmp_path / "out"
    code, said, told = run(
        out,
        temporary,
        "--only",
        "eager,fp8-kv,kv-pool-too-small,gpu-oom-serving,two-cards",
        env=env,
    )
    assert code == 0, told
    assert said.startswith("4 done, 0 were done before, of 5\n"), said + told
    assert "left out: two-cards: needs 2 cards of one kind, 1 can be used" in said
    assert (
        "sizing: 2 start-ups, 0 of them failed; tokens of the pool, its memory given: "
        "within 1 % for 2 of 2"
    ) in said
    assert "within 3 % or 0.5 GiB: 100%" in said
    assert "states: 2 of 2 named right" in said
    about = json.loads((out / "here.json").read_text())
    assert (about["card"], about["driver"], about["catalogue"]) == (
        NAME,
        "580.159.04",
        "H100-SXM5-80GB",
    )
    assert about["memory_gib"] == pytest.approx(TOTAL_MIB / 1024, abs=0.001)
    shown = list((out / "states" / "gpu-oom-serving" / "gpu" / "replica-0").iterdir())
    assert [path.name.partition(".")[2] for path in shown] == ["nvidia-smi.csv"]
    texts = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    assert str(tmp_path) not in texts
    assert str(temporary) not in texts
    nothing_is_left(temporary)


def test_without_a_card_or_a_vllm_one_sentence_says_so(tmp_path: Path, temporary: Path) -> None:
    env = pretended_card(tmp_path / "card", used_mib=40_000)
    bare = {**env, "PATH": "/nonexistent"}
    assert run(tmp_path / "out", temporary, env=bare)[0::2] == (
        2, "gpu: no card is here: neither nvidia-smi nor amd-smi nor rocm-smi shows one\n",
    )  # fmt: skip
    assert "is in use: 49% of its memory is taken" in run(tmp_path / "out", temporary, env=env)[2]
    free = pretended_card(tmp_path / "free")
    without = {name: value for name, value in free.items() if name != "VLLM"}
    code, _, told = run(
        tmp_path / "out",
        temporary,
        env={**without, "PATH": free["PATH"].split(":")[0] + ":/usr/bin:/bin"},
    )
    assert (code, told.count("\n")) == (2, 1)
    assert "no vLLM is here" in told
    assert "VLLM=vllm/bin/vllm make gpu" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("real_vllm", "no_engine")
def test_a_part_of_it_on_the_real_vllm(tmp_path: Path, temporary: Path) -> None:
    out = tmp_path / "out"
    code, said, told = run(out, temporary, "--on-cpu", "--only", "pace,kv-pool-too-small")
    assert code == 0, told
    assert said.startswith("2 done, "), said + told
    assert "within 1 % for 1 of 1" in said
    assert "1 of 1 named right" in said
    assert rows(out, "steps.jsonl")[0]["base_s"] > 0
    nothing_is_left(temporary)
