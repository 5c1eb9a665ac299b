"""`barostat simulate --steps-out` writes the real scheduler's steps."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.parity.scheduler_cases import as_json, case

from barostat.twin.request import Row
from barostat.twin.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


PYTHON = ROOT / ".vllm" / "bin" / "python"
SEEDS = range(5_000, 5_060)

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not PYTHON.exists(), reason="no real vLLM here (make vllm)"),
]


def _command(settings: Settings, trace: Path, steps: Path) -> list[str]:
    def switch(name: str, on: bool) -> str:
        return f"--{name}" if on else f"--no-{name}"

    words = [
        "--trace", trace, "--step-time", 1, "--steps-out", steps, "--steps-detail", "--kv-blocks", settings.kv_blocks,
        "--block-size", settings.groups[0].block_tokens, "--max-num-seqs", settings.max_num_seqs,
        "--max-num-batched-tokens", settings.max_num_batched_tokens, "--max-model-len", settings.max_model_len,
        "--watermark", settings.watermark_ratio, "--policy", settings.policy,
        "--long-prefill-token-threshold", settings.long_prefill_token_threshold,
        switch("reserve-full-isl", settings.reserve_full_isl), switch("enable-prefix-caching", settings.prefix_caching),
        switch("enable-chunked-prefill", settings.chunked_prefill), switch("async-scheduling", settings.async_scheduling), "-o", "json",
    ]  # fmt: skip
    for group in settings.groups[1:]:
        words += ["--sliding-window", group.window_tokens]
    for name in ("max_num_active_seqs", "max_queued_requests", "max_queued_tokens"):
        if getattr(settings, name) is not None:
            words += [f"--{name.replace('_', '-')}", getattr(settings, name)]
    return ["simulate", *map(str, words)]


def _sayable(settings: Settings) -> bool:
    """The command line knows one full group and windows of the same block size."""
    first, *rest = settings.groups
    return first.is_full and all(
        group.window_tokens and group.block_tokens == first.block_tokens for group in rest
    )


def test_the_command_line_writes_the_real_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from barostat.shells.cli.main import main

    cases: list[tuple[Settings, list[Row]]] = [
        one for seed in SEEDS if _sayable((one := case(seed))[0])
    ]
    lines = "".join(json.dumps(as_json(*one, 50_000)) + "\n" for one in cases)
    oracle = Path(__file__).with_name("oracle_scheduler.py")
    done = subprocess.run(
        [str(PYTHON), str(oracle)],
        input=lines,
        capture_output=True,
        text=True,
        timeout=3600,
        check=True,
    )
    assert len(cases) > 30
    for (settings, rows), line in zip(cases, done.stdout.splitlines(), strict=True):
        real = json.loads(line)
        trace, steps = tmp_path / "rows.jsonl", tmp_path / "steps.jsonl"
        plain: list[dict[str, Any]] = [
            {
                name: getattr(row, name)
                for name in ("request_id", "arrival_s", "input_tokens", "output_tokens", "priority")
            }
            | {"prompt_token_ids": list(row.prompt_token_ids or ())}
            for row in rows
        ]
        trace.write_text("".join(json.dumps(row) + "\n" for row in plain))
        code = main(_command(settings, trace, steps))
        report = json.loads(capsys.readouterr().out)
        assert code == (1 if report["keepsUp"] == "falls behind" or not report["wouldStart"] else 0)
        written = [json.loads(row) for row in steps.read_text().splitlines()]
        ours = [
            [one["step"], list(map(list, one["scheduled"].items())), sorted(one["preempted"]), one["running"], one["waiting"],
             one["free_block_ids"]]
            for one in written
        ]  # fmt: skip
        assert ours == [shown for shown in real["steps"] if shown[1]], settings
        assert all(one["free_blocks"] == len(one["free_block_ids"]) for one in written)
        assert [[one["requestId"], one["reason"]] for one in report["rejections"]] == real[
            "rejected"
        ]
