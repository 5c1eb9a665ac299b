"""`barostat what-if`: today's configuration beside candidates, on the same workload."""

from __future__ import annotations

import argparse
import copy
import json
import sys
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import seconds
from barostat.shells.cli.seen_arguments import add_seen_arguments
from barostat.shells.cli.simulate import add_engine_arguments, add_workload_arguments

if TYPE_CHECKING:
    from barostat.twin.outcome import Outcome
    from barostat.twin.summary import Summary

EPILOG = """\
examples:
  barostat what-if --trace rows.jsonl --kv-blocks 4000 --max-num-seqs 128 --latency base=0.012,prefill=3e-5,kv=2e-8 \\
      --set max-num-seqs=48 --set watermark=0.05 --set max-num-seqs=64,watermark=0.02

  barostat what-if --from http://localhost:8000 --set max-num-seqs=48 --set watermark=0.05     on the traffic seen in half a minute
  barostat what-if --from incident.tar.gz --set max-num-seqs=48 --slo-ttft 2
  barostat what-if --from deploy/vllm -n inference --set watermark=0.05     the busiest replica stands for each

each --set is one candidate; what it does not name stays as it is today
exit codes: 0 compared, 1 an engine would be stuck for ever, 2 usage or something needed was not seen, 4 unreachable or not vLLM
"""

_RUNS = 5
_NO_CANDIDATE = "only today is shown: say what to try beside it with --set NAME=VALUE, such as --set max-num-seqs=48"


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "what-if",
        help="today's configuration beside candidates, on the same workload: latencies, goodput, preemptions",
        description="Try changes of the engine's settings on a workload, without an engine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_seen_arguments(parser)
    add_workload_arguments(parser, required=False)
    add_engine_arguments(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE[,...]", dest="candidates", help="a candidate; repeat for more"
    )
    parser.add_argument("--slo-ttft", type=float, metavar="S", help="a good request has its first token within S seconds")
    parser.add_argument("--slo-itl", type=float, metavar="S", help="a good request has at most S seconds between tokens, on average")
    parser.add_argument("--runs", type=int, metavar="N", help="with --from: runs of each, with other dice (default 5)")
    parser.add_argument("--duration", type=seconds, metavar="TIME", help="with --from: how long each run is (default: some 500 requests)")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Simulate every candidate and print them side by side."""
    _check(arguments)
    if not arguments.candidates:
        print(f"barostat: {_NO_CANDIDATE}", file=sys.stderr)
    if arguments.source is not None:
        return _run_from(arguments)
    if arguments.trace is None and arguments.workload is None:
        from barostat.core.errors import InputError

        raise InputError("say which traffic: --from URL, deploy/NAME or BUNDLE, --trace FILE or --workload SPEC", "what-if")
    from barostat.shells.cli.simulate_inputs import engine_of, front_of, pace_of, rows_of
    from barostat.shells.simulation_report import simulation_json
    from barostat.twin.forms import simulate
    from barostat.twin.summary import Slo, summarise

    names = ["today", *arguments.candidates]
    changed = [arguments, *(with_changes(arguments, candidate) for candidate in arguments.candidates)]
    shown: list[tuple[str, Any, Outcome, Summary]] = []
    said: set[str] = set()
    given = pace_of(arguments, engine_of(arguments)) if arguments.latency is not None else None  # a log is of today's pool
    for name, candidate in zip(names, changed, strict=True):
        engine = engine_of(candidate)
        rows, notes = rows_of(candidate, engine.settings)
        for note in (*engine.notes, *notes):
            if note not in said:
                said.add(note)
                print(f"barostat: {note}", file=sys.stderr)
        pace = given or pace_of(candidate, engine)
        outcome = simulate(engine.settings, rows, pace)
        slo = Slo(arguments.slo_ttft or engine.slo_ttft_s, arguments.slo_itl or engine.slo_itl_s)
        shown.append((name, engine.settings, outcome, summarise(outcome, engine.settings.usable_blocks, slo, front_of(pace))))
    if arguments.output == "json":
        candidates = [{"name": name, **simulation_json(settings, outcome, summary)} for name, settings, outcome, summary in shown]
        json.dump({"apiVersion": candidates[0]["apiVersion"], "kind": "WhatIf", "candidates": candidates}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(_table([(name, outcome, summary) for name, _, outcome, summary in shown]))
    return 1 if any(outcome.stuck for _, _, outcome, _ in shown) else 0


def _check(arguments: argparse.Namespace) -> None:
    """Nothing, where all options can act.

    Errors: InputError naming the first that cannot, and what it needs.
    """
    from barostat.core.errors import InputError
    from barostat.shells.cli.idle_options import refuse_idle, refuse_idle_engine

    refuse_idle(arguments, arguments.source, "--from")
    if arguments.runs is not None and (arguments.source is None or arguments.trace is not None):
        raise InputError("belongs to --from without --trace: other traffic is one and the same in every run", "--runs")
    if arguments.duration is not None and (arguments.source is None or arguments.trace is not None or arguments.workload is not None):
        raise InputError("belongs to --from without --trace or --workload: other traffic has its own length", "--duration")
    if arguments.source is None:
        for candidate in arguments.candidates:
            refuse_idle_engine(with_changes(arguments, candidate), f"--set {candidate}")


def _run_from(arguments: argparse.Namespace) -> int:
    """The same for an engine that runs, on its own traffic."""
    from barostat.core.errors import InputError
    from barostat.judge.side_by_side import compare, far_off
    from barostat.shells.cli.simulate_inputs import engine_of
    from barostat.shells.cli.situation import situation
    from barostat.shells.what_if_report import side_by_side, what_if_json
    from barostat.twin.settings import newer_than_read
    from barostat.twin.summary import Slo

    runs = _RUNS if arguments.runs is None else arguments.runs
    if not 1 <= runs <= 100:
        raise InputError("must be 1 to 100", f"--runs {runs}")
    for name in arguments.candidates:
        with_changes(arguments, name)  # a wrong one is told before the engine is looked at
    now = situation(arguments, Slo(arguments.slo_ttft, arguments.slo_itl))
    if arguments.trace is None and arguments.workload is not None and not now.load.rows(0):
        raise InputError("holds no request: make it longer, or its rate higher", f"--workload {arguments.workload}")
    versions = 1 if arguments.trace is not None else runs
    candidates = [("today", now.settings)]
    notes = list(now.notes)
    for name in arguments.candidates:
        changed = with_changes(arguments, name)
        candidates.append((name, engine_of(changed).settings))
        newer = newer_than_read(changed.engine_version or "")
        notes += [newer] if newer and newer not in notes else []
    shown = [compare(name, settings, now.load, now.slo, now.paces, versions) for name, settings in candidates]
    off = far_off(shown[0], now.measured) if now.traffic is not None else ()
    if off:
        notes.append(f"the twin of today's engine is far from what was measured in {', '.join(off)}: trust differences less than they look")
    if arguments.output == "json":
        found = what_if_json(shown, now.slo, arguments.source, now.traffic, now.paces[0], now.measured, notes)
        json.dump(found, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        for note in notes:
            print(f"barostat: {note}", file=sys.stderr)
        sys.stdout.write(side_by_side(shown, now.measured))
    return 1 if any(one.stuck for one in shown) else 0


def with_changes(arguments: argparse.Namespace, candidate: str) -> argparse.Namespace:
    """The arguments with the candidate's `name=value,...` in place of what they say.

    Errors: InputError naming what is not known or has no such value.
    """
    from barostat.core.errors import InputError

    class Strict(argparse.ArgumentParser):
        def error(self, message: str) -> Any:
            raise InputError(message, f"--set {candidate}")

    words = []
    for part in candidate.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or not name:
            raise InputError(f"{part!r} is not NAME=VALUE", f"--set {candidate}")
        name = name.replace("_", "-")
        if value.lower() in ("true", "false", "on", "off", "yes", "no"):
            words.append(f"--{name}" if value.lower() in ("true", "on", "yes") else f"--no-{name}")
        else:
            words += [f"--{name}", value]
    parser = Strict(add_help=False, allow_abbrev=False)
    add_engine_arguments(parser)
    given = vars(parser.parse_args(words))
    changed = copy.copy(arguments)
    for name, value in given.items():
        if value not in (None, []):
            setattr(changed, name, value)
    return changed


def _table(shown: list[tuple[str, Outcome, Summary]]) -> str:
    from barostat.shells.simulation_report import seconds

    width = max(24, *(len(name) for name, _, _ in shown))
    titles = ("good/s", "tokens/s", "TTFT p50", "TTFT p99", "ITL p50", "ITL p99", "KV mean", "preempted", "recomputed", "rejected")
    lines = [f"{'':{width}} " + " ".join(f"{title:>10}" for title in titles)]
    for name, outcome, summary in shown:
        cells = (
            f"{summary.good_per_s:.4g}", f"{summary.output_tokens_per_s:,.5g}", seconds(summary.ttft.p50), seconds(summary.ttft.p99),
            seconds(summary.itl.p50), seconds(summary.itl.p99), f"{summary.usage_mean_ratio:.0%}", f"{outcome.preemptions:,}",
            f"{outcome.recomputed_tokens:,}", f"{summary.rejected:,}",
        )  # fmt: skip
        lines.append(f"{name:{width}} " + " ".join(f"{cell:>10}" for cell in cells))
        if outcome.stuck:
            lines.append(f"{'':{width}} STUCK: {outcome.stuck}")
    return "\n".join(lines) + "\n"
