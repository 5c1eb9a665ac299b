"""A state of the engine diagnosed, a proposal applied, and what came of it: by its clients and by
the engine's counters.

with engine: report = diagnosed(engine, 30)
outcome, load = measured(scenario, other_engine, other_engine.url, 60)
"""

from __future__ import annotations

import json
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from dev.engine import Engine
from dev.engine_says import counter, scrape
from dev.gateway_process import BAROSTAT, GatewayProcess
from dev.load import Background, Load
from dev.reaper import run_to_end
from dev.scenarios import Scenario

TOKENS, PREEMPTIONS = "vllm:generation_tokens_total", "vllm:num_preemptions_total"
ITL = "vllm:inter_token_latency_seconds"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a setting comes to. Times in seconds."""

    tokens_per_s: float
    ttft_s: float
    itl_s: float
    preemptions_per_s: float

    def judged(self) -> dict[str, float]:
        """What is held to the forecast, by name."""
        return {"tokens/s": self.tokens_per_s, "TTFT": self.ttft_s, "ITL": self.itl_s}


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting, what was forecast for it and what came. `between`: the least and the most of a
    forecast that the report calls unsure.
    """

    state: str
    change: str
    forecast: Outcome
    measured: Outcome
    between: tuple[Outcome, Outcome] | None = None


def expected(found: dict[str, Any]) -> Outcome:
    """A forecast as the report has it."""
    keys = ("outputTokensPerSecond", "ttftMeanSeconds", "itlMeanSeconds", "preemptionsPerSecond")
    return Outcome(*(float(found[key]) for key in keys))


def between(step: dict[str, Any]) -> tuple[Outcome, Outcome] | None:
    """The least and the most of a next step that the report calls unsure; None of one whose
    forecast it stands by.
    """
    return (
        (expected(step["between"]["least"]), expected(step["between"]["most"]))
        if step["effect"] == "unsure"
        else None
    )


def flags_with(flags: Sequence[str], change: str) -> tuple[str, ...]:
    """The command line with the flags of a change in place of what they had."""
    words, kept = shlex.split(change), list(flags)
    for name in (word for word in words if word.startswith("--")):
        if name in kept:
            place = kept.index(name)
            del kept[place : place + 2]
    return (*kept, *words)


def measured(one: Scenario, engine: Engine, url: str, for_s: float) -> tuple[Outcome, Background]:
    """What the scenario's clients and the engine's counters say of a stretch, once the state is
    steady.
    """
    with Background(url, streaming(one)) as load:
        settle(one)
        first, before, began = len(load.counts.ttft_s), scrape(engine), time.monotonic()
        time.sleep(for_s)
        after, seconds = scrape(engine), time.monotonic() - began
        ttft_s = load.counts.ttft_s[first:]
    grown = {
        name: counter(after, name) - counter(before, name)
        for name in (TOKENS, PREEMPTIONS, f"{ITL}_sum", f"{ITL}_count")
    }
    itl_s = grown[f"{ITL}_sum"] / max(1.0, grown[f"{ITL}_count"])
    return Outcome(
        grown[TOKENS] / seconds, fmean(ttft_s), itl_s, grown[PREEMPTIONS] / seconds
    ), load


def streaming(one: Scenario) -> Load:
    """The scenario's load, whose clients see every token come."""
    assert one.load is not None
    return replace(one.load, stream=True)


def settle(one: Scenario) -> None:
    """The state is steady."""
    time.sleep(2 * one.settle_s)


def applied(
    one: Scenario,
    engine: Callable[[Sequence[str]], Engine],
    flags: Sequence[str],
    change: str,
    for_s: float,
    wait_ready: Callable[[Engine], object],
) -> tuple[Outcome, Background]:
    """What the change comes to, on an engine of its own or at a gateway in front of one. `engine`:
    one with these flags, not started.
    """
    with ExitStack() as stack:
        edge = not change.startswith("--")
        started = stack.enter_context(engine(flags if edge else flags_with(flags, change)))
        wait_ready(started)
        url = started.url
        if edge:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=started.folder)))
            url = stack.enter_context(GatewayProcess(folder, change, started.url)).url
        return measured(one, started, url, for_s)


def diagnosed(engine: Engine, for_s: float) -> dict[str, Any]:
    """The report's one replica. Errors: RuntimeError where there is none."""
    command = [
        str(BAROSTAT),
        "diagnose",
        engine.url,
        "--for",
        f"{for_s:g}s",
        "--interval",
        "5s",
        "--log",
        str(engine.log),
        "-o",
        "json",
    ]
    done = run_to_end(command, within_s=for_s + 120)
    if not done.stdout:
        raise RuntimeError(f"barostat diagnose ended with {done.returncode}: {done.stderr.strip()}")
    replica: dict[str, Any] = json.loads(done.stdout)["replicas"][0]
    return replica


def proposals(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The report's next steps that have a forecast, turn nobody away, and can be tried here."""
    forecast = [
        step
        for step in report["next"]
        if step["expected"] and step["expected"]["refusedRatio"] < 0.01
    ]
    return [step for step in forecast if is_appliable(step["change"])]


def is_appliable(change: str) -> bool:
    """True for what can be tried here: a flag, or a budget of a gateway in front.

    A limit of single requests is forecast alone, and a gateway that has it admits by what requests
    hold, too.
    """
    return re.match(r"--[a-z]|edge: \{", change) is not None
