"""The values at which a proposal is tried."""

from __future__ import annotations

import pytest

from barostat.catalog.signals import signal
from barostat.core.config import EngineConfig
from barostat.core.diagnosis import NextStep
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.judge.advice.values import at_values

RUNNING = signal("running_requests", [(1000.0, 8.0), (1030.0, 20.0)], "test")


def _changes(lever: str, change: str, *, running: bool = True) -> list[str]:
    signals = {"running_requests": RUNNING} if running and RUNNING is not None else {}
    window = Window("r", 1030.0, signals, EngineConfig({}), parse_version("0.32.0"), "")
    return [
        step.change for step in at_values(NextStep(lever, change, "because", restarts=True), window)
    ]


@pytest.mark.parametrize(
    ("lever", "change", "tried"),
    [
        (
            "watermark",
            "--watermark 0.05",
            ["--watermark 0.05", "--watermark 0.01", "--watermark 0.02", "--watermark 0.1"],
        ),
        (
            "max-num-active-seqs",
            "--max-num-active-seqs 6",
            [f"--max-num-active-seqs {value}" for value in (6, 10, 13, 16, 18)],
        ),
        (
            "max-num-batched-tokens",
            "--max-num-batched-tokens 16384",
            ["--max-num-batched-tokens 16384", "--max-num-batched-tokens 8192"],
        ),
        ("prefix-caching-on", "--enable-prefix-caching", ["--enable-prefix-caching"]),
        ("edge-input-cap", "request: {maxInputTokens: 512}", ["request: {maxInputTokens: 512}"]),
    ],
)
def test_its_own_first_then_those_around(lever: str, change: str, tried: list[str]) -> None:
    assert _changes(lever, change) == tried


def test_without_what_runs_its_own_alone() -> None:
    assert _changes("max-num-active-seqs", "--max-num-active-seqs 6", running=False) == [
        "--max-num-active-seqs 6"
    ]
