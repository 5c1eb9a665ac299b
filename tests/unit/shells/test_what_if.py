"""`barostat what-if`: candidates beside today's settings, on the same rows."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.shells.cli import what_if

BASE = [
    "what-if", "--workload", "bursty:rate=6,minutes=4,input=400,output=300", "--kv-blocks", "800", "--max-num-seqs", "64",
    "--latency", "base=0.02,prefill=2e-5,kv=2e-8",
]  # fmt: skip


def _run(*more: str) -> int:
    parser = argparse.ArgumentParser()
    what_if.add_parser(parser.add_subparsers())
    arguments = parser.parse_args([*BASE, *more])
    code: int = arguments.run(arguments)
    return code


def _read(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["candidates"]
    return found


def test_fewer_slots_preempt_less(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--set", "max-num-seqs=12", "--set", "watermark=0.1,enable-prefix-caching=false", "-o", "json") == 0
    today, fewer, kept_free = _read(capsys)
    assert [one["name"] for one in (today, fewer, kept_free)] == ["today", "max-num-seqs=12", "watermark=0.1,enable-prefix-caching=false"]
    assert today["preemptions"] > 0
    assert fewer["preemptions"] < today["preemptions"]
    assert fewer["settings"]["maxNumSeqs"] == 12
    assert kept_free["settings"]["maxNumSeqs"] == 64
    assert (kept_free["settings"]["watermarkRatio"], kept_free["settings"]["prefixCaching"]) == (0.1, False)
    assert len({one["requests"]["total"] for one in (today, fewer, kept_free)}) == 1


def test_the_table_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--set", "max_num_seqs=12") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["today", "max_num_seqs=12"]


@pytest.mark.parametrize("wrong", ["max-num-seqs", "slots=3", "max-num-seqs=many", "policy=sjf", "=3"])
def test_a_wrong_candidate_is_named(wrong: str) -> None:
    with pytest.raises(InputError, match="--set"):
        _run("--set", wrong)
