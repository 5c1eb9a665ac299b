"""`make demo`: a vLLM collapses under a burst, and comes back; behind the gateway it does not
collapse. On the twin: no GPU, no vLLM.

`barostat twin` serves with a small KV pool, and clients ask it for what it can do with ease. A
burst pushes it into preemption; from then on it computes so much again that the same load no longer
fits, although the burst is over. It is diagnosed; what the diagnosis proposes is tried (`barostat
what-if`); the best is applied with a controlled restart, while clients try again; and it is
diagnosed once more. Then the engine as it was at first gets the same burst with `barostat gateway`
in front (demo_gateway.py). About 75 s in all.

Exit 0 if each of these was really seen, else 1 with what was not. `--real` (`make demo REAL=1`)
diagnoses the real vLLM instead.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev import demo_real
from dev.demo_gateway import Burst, SecondAct, behind_the_gateway, wrong_in
from dev.demo_numbers import SLO_ITL_S, SLO_TTFT_S, Numbers, numbers
from dev.demo_page import Look, Story, page
from dev.demo_traffic import Shape, Traffic, Watch
from dev.engine import ROOT
from dev.twin_engine import TwinEngine
from rich.console import Console

from barostat.core.proposed_change import SetFlag
from barostat.io.local_host.recording import Sources, record_engines
from barostat.judge.advice.change_text import as_set_option
from barostat.judge.diagnosis.diagnose import examine
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.diagnosis.headline import cause_words
from barostat.shells.reports.sheet.forms import print_document

# An engine that computes 11,000 tokens a second, be they prompt or output, with a pool of 64 blocks
# of 128 tokens. At 15 requests a second it runs eight at once, in a third of the pool. With the
# pool full it preempts twice per request and gets no further than that rate; with 15 at once it
# would do 19.5. Lengths are even within buckets of vLLM's histograms.
FLAGS = ("--max-model-len", "2048", "--max-num-seqs", "256", "--shutdown-timeout", "1")
OPTIONS = ("--kv-blocks", "64")
LATENCY = "base=0.0005,prefill=0.00009,decode=0.00009"
SHAPE = Shape(rate_per_s=15.0, prompt_tokens=(51, 100), output_tokens=(201, 500))
CALM_S, BURST_S, BURST_FACTOR, ALONE_S = 5.0, 2.0, 3.0, 5.0
LOOK_S, LAST_LOOK_S, RECOVERED_WITHIN_S = 8.0, 6.0, 40
BEHIND = Burst(SHAPE, BURST_FACTOR, CALM_S, BURST_S, ALONE_S)
PAGE = ROOT / "build" / "demo.html"


class Failed(Exception):
    """The demo did not show what it is there to show; the text says what."""


def say(text: str) -> None:
    """Tell a person what goes on."""
    print(f"demo: {text}", file=sys.stderr, flush=True)


@dataclass(slots=True)
class Stage:
    """The engine, its clients and who watches. `engine` is another one after the change."""

    engine: TwinEngine
    traffic: Traffic
    watch: Watch

    def between(self, from_s: float, until_s: float) -> Numbers:
        """The numbers of a stretch of time."""
        return numbers(self.traffic.answers, self.watch.samples, from_s, until_s)

    def tell(self, what: str, over_s: float = 4.0) -> None:
        """One line on how things are."""
        now_s = self.traffic.now_s()
        say(f"{now_s:3.0f} s  {what}: {self.between(now_s - over_s, now_s).told()}")

    def look(self, for_s: float) -> Look:
        """`barostat diagnose`, and what it rests on."""
        engine = self.engine
        say(
            f"$ barostat diagnose {engine.url} --for {for_s:.0f}s --interval 2s --log "
            f"engine.log --pid {engine.pid}"
        )
        from_s = self.traffic.now_s()
        recording = record_engines(Sources((engine.url,), engine.log, engine.pid), for_s, 2.0)
        found = examine(recording)
        console = Console(highlight=False, markup=False, emoji=False)
        print_document(report_document(found.report, short=True), console)
        until_s = self.traffic.now_s()
        return Look(
            found.report.replicas[0],
            found.shown[recording.replicas[0].name],
            self.between(from_s, until_s),
            until_s,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Show it; 0 if it worked."""
    parser = argparse.ArgumentParser(description="A vLLM collapses under a burst, and comes back.")
    parser.add_argument(
        "--real", action="store_true", help="the real vLLM (make vllm) in KV pressure, diagnosed"
    )
    parser.add_argument(
        "--page",
        type=Path,
        default=PAGE,
        metavar="FILE",
        help=f"where the page goes (default {PAGE.relative_to(ROOT)})",
    )
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if chosen.real:
        return demo_real.main()
    began_s = time.monotonic()
    try:
        story = _story()
    except Failed as failure:
        say(f"FAILED: {failure}")
        return 1
    chosen.page.parent.mkdir(parents=True, exist_ok=True)
    chosen.page.write_text(page(story), encoding="utf-8")
    say(f"before: {story.before.numbers.told()}")
    say(f"after:  {story.after.numbers.told()}")
    say(f"behind the gateway: {story.second.behind.told()}")
    say(f"the whole story on one page: {chosen.page}")
    say(f"done in {time.monotonic() - began_s:.0f} s")
    return 0


def _story() -> Story:
    """What happened, from calm to calm. Errors: Failed."""
    say(f"barostat twin: vLLM 0.32.0, a KV pool of 8,192 tokens, {SHAPE.rate_per_s:g} requests/s")
    with TwinEngine(*FLAGS, shape="small", options=OPTIONS, latency=LATENCY) as first:
        first.wait_ready()
        with Traffic(first.url, SHAPE) as traffic, Watch(first.url, traffic) as watch:
            stage = Stage(first, traffic, watch)
            marks = _collapse(stage)
            before = stage.look(LOOK_S)
            marks.append((before.at_s, "diagnosed"))
            if before.report.diagnosis.cause != "kv-preemption-thrash":
                raise Failed(
                    f"the collapse was diagnosed as {cause_words(before.report.diagnosis)}"
                )
            tried = _what_if(stage, _candidates(before))
            chosen = _best(tried)
            with TwinEngine(
                *FLAGS, *_flags(chosen), shape="small", options=OPTIONS, latency=LATENCY
            ) as second:
                lost = _change(stage, second, chosen, marks)
                after = _recovery(stage, marks)
            answers, samples, burst_s = list(traffic.answers), list(watch.samples), marks[0][0]
            without = stage.between(burst_s, burst_s + BURST_S + ALONE_S)
    act = _second_act(without)
    return Story(
        SHAPE,
        BURST_FACTOR,
        BURST_S,
        answers,
        samples,
        tuple(marks),
        before,
        after,
        tried,
        chosen,
        lost,
        act,
    )


def _second_act(without: Numbers) -> SecondAct:
    """The engine of the beginning, the same burst, the gateway in front. Errors: Failed."""
    say("the same engine and burst again, with `barostat gateway` in front")
    with TwinEngine(*FLAGS, shape="small", options=OPTIONS, latency=LATENCY) as engine:
        engine.wait_ready()
        act = behind_the_gateway(engine, BEHIND, without)
    say(f"  without: {without.told()}")
    say(f"  with:    {act.behind.told()}")
    say(f"  {act.preempted_words()}; {act.refused_words()}")
    say(f"  {act.ttft_words()}")
    if wrong := wrong_in(act):
        raise Failed(wrong)
    return act


def _collapse(stage: Stage) -> list[tuple[float, str]]:
    """The burst has come and gone, and the engine has not recovered."""
    time.sleep(CALM_S)
    stage.tell("calm")
    burst_s = stage.traffic.now_s()
    stage.traffic.burst(BURST_FACTOR, BURST_S)
    time.sleep(BURST_S)
    stage.tell(f"after {BURST_S:.0f} s of {BURST_FACTOR:g} times as many", BURST_S)
    time.sleep(ALONE_S)
    stage.tell(f"{ALONE_S:.0f} s later at the former rate")
    return [(burst_s, "burst")]


def _candidates(look: Look) -> list[str]:
    """What the diagnosis proposes that is a setting of the engine, as what-if wants it, and the
    first two of them together.
    """
    found = [
        str(as_set_option(step.change))
        for step in look.report.next
        if isinstance(step.change, SetFlag)
    ]
    return [*found[:2], ",".join(found[:2])] if len(found) > 1 else found


def _what_if(stage: Stage, candidates: list[str]) -> list[dict[str, Any]]:
    """Today and the candidates on the traffic seen. Errors: Failed where there is none to try."""
    if not candidates:
        raise Failed("the diagnosis proposed no setting of the engine")
    # A person names model and card, which tell what a step takes; this engine has neither.
    command = [
        "what-if",
        "--from",
        stage.engine.url,
        "--for",
        "5s",
        "--interval",
        "1s",
        "--latency",
        LATENCY,
        "--arrivals",
        "open",
    ]
    command += [
        "--runs",
        "2",
        "--duration",
        "40s",
        "--slo-ttft",
        f"{SLO_TTFT_S:g}",
        "--slo-itl",
        f"{SLO_ITL_S:g}",
    ]
    command += ["--log", str(stage.engine.log)]
    for candidate in candidates:
        command += ["--set", candidate]
    say(f"$ barostat {' '.join(command)}".replace(str(stage.engine.log), "engine.log"))
    done = subprocess.run(
        [str(Path(sys.executable).with_name("barostat")), *command, "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        raise Failed(f"what-if ended with {done.returncode}: {done.stderr.strip()}")
    tried: list[dict[str, Any]] = json.loads(done.stdout)["candidates"]
    _print_tried(tried)
    return tried


def _print_tried(tried: list[dict[str, Any]]) -> None:
    width = max(len(one["name"]) for one in tried)
    print(f"\n{'':{width}}  good/s  preempted/s  TTFT p99  ITL p99")
    for one in tried:
        good, preempted, ttft, itl = (
            (one[key] or {"mean": float("nan")})["mean"]
            for key in (
                "goodRequestsPerSecond",
                "preemptionsPerSecond",
                "ttftP99Seconds",
                "itlP99Seconds",
            )
        )
        print(
            f"{one['name']:{width}}  {good:6.1f}  {preempted:11.1f}  {ttft:6.1f} s  "
            f"{itl * 1000:4.0f} ms"
        )
    print(flush=True)


def _best(tried: list[dict[str, Any]]) -> str:
    """The candidate with the most good answers; of those within 3 % of it the first, which is the
    one that the diagnosis named first.

    Errors: Failed where none is better than today.
    """
    today, *others = (
        (one["name"], (one["goodRequestsPerSecond"] or {"mean": 0.0})["mean"]) for one in tried
    )
    most = max(good for _, good in others)
    if most <= 1.05 * today[1]:
        raise Failed("no candidate is better than today's configuration")
    return str(next(name for name, good in others if good >= 0.97 * most))


def _flags(candidate: str) -> list[str]:
    """The settings as vLLM's command line has them."""
    return [
        word
        for part in candidate.split(",")
        for name, _, value in [part.partition("=")]
        for word in (f"--{name}", value)
    ]


def _change(stage: Stage, second: TwinEngine, chosen: str, marks: list[tuple[float, str]]) -> str:
    """The engine runs with the change; what that cost, in one sentence."""
    last = stage.watch.samples[-1]
    running, waiting = round(last.running), round(last.waiting)
    say(
        f"applying {' '.join(_flags(chosen))}: SIGTERM to the only replica, with 1 s to finish "
        "requests"
    )
    began_s = stage.traffic.now_s()
    second.port = stage.engine.port
    stage.engine.stop()
    second.start().wait_ready(within_s=30)
    stage.engine = second
    marks.append((began_s, "changed"))
    down_s = stage.traffic.now_s() - began_s
    lost = (
        f"The replica was away for {down_s:.1f} s; {running} running and {waiting} waiting "
        "requests were cut off, and their clients retried them; lost: their computed KV cache "
        f"({last.kv_usage_ratio:.0%} of the pool) and the prefix cache."
    )
    say(lost)
    return lost


def _recovery(stage: Stage, marks: list[tuple[float, str]]) -> Look:
    """The queue is gone, and the second diagnosis says so too. Errors: Failed."""
    for second in range(1, RECOVERED_WITHIN_S + 1):
        time.sleep(1.0)
        lately = [
            sample for sample in stage.watch.samples if sample.at_s > stage.traffic.now_s() - 1.6
        ]
        if second > 3 and lately and all(sample.waiting == 0 for sample in lately):
            break
        if second % 5 == 0:
            stage.tell("changed")
    else:
        raise Failed(f"the queue was still there {RECOVERED_WITHIN_S} s after the change")
    marks.append((stage.traffic.now_s(), "recovered"))
    stage.tell("the queue is gone", 1.0)
    time.sleep(2.0)
    after = stage.look(LAST_LOOK_S)
    if (
        not after.report.diagnosis.cause.startswith("healthy")
        or after.report.forecast.exhaustion_in_s is not None
    ):
        raise Failed(f"after the change the diagnosis is {cause_words(after.report.diagnosis)}")
    if after.numbers.good_per_s < 0.9 * SHAPE.rate_per_s:
        raise Failed(f"only {after.numbers.good_per_s:.1f} answers/s are good after the change")
    return after


if __name__ == "__main__":
    raise SystemExit(main())
