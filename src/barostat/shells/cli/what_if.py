"""`barostat what-if`: today's configuration beside candidates, on the same workload."""

from __future__ import annotations

import argparse
import copy
import json
import sys
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.simulate import add_engine_arguments, add_workload_arguments

if TYPE_CHECKING:
    from barostat.twin.outcome import Outcome
    from barostat.twin.summary import Summary

EPILOG = """\
examples:
  barostat what-if --trace rows.jsonl --kv-blocks 4000 --max-num-seqs 128 --latency base=0.012,prefill=3e-5,kv=2e-8 \\
      --set max-num-seqs=48 --set watermark=0.05 --set max-num-seqs=64,watermark=0.02

each --set is one candidate; what it does not name stays as it is today
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "what-if",
        help="today's configuration beside candidates, on the same workload: latencies, goodput, preemptions",
        description="Try changes of the engine's settings on a workload, without an engine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_workload_arguments(parser)
    add_engine_arguments(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE[,...]", dest="candidates", help="a candidate; repeat for more"
    )
    parser.add_argument("--slo-ttft", type=float, metavar="S", help="a good request has its first token within S seconds")
    parser.add_argument("--slo-itl", type=float, metavar="S", help="a good request has at most S seconds between tokens, on average")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Simulate every candidate and print them side by side."""
    from barostat.shells.cli.simulate_inputs import engine_of, pace_of, rows_of
    from barostat.shells.simulation_report import simulation_json
    from barostat.twin.forms import simulate
    from barostat.twin.summary import Slo, summarise

    names = ["today", *arguments.candidates]
    changed = [arguments, *(with_changes(arguments, candidate) for candidate in arguments.candidates)]
    shown: list[tuple[str, Any, Outcome, Summary]] = []
    said: set[str] = set()
    for name, candidate in zip(names, changed, strict=True):
        engine = engine_of(candidate)
        rows, notes = rows_of(candidate, engine.settings)
        for note in (*engine.notes, *notes):
            if note not in said:
                said.add(note)
                print(f"barostat: {note}", file=sys.stderr)
        outcome = simulate(engine.settings, rows, pace_of(candidate, engine))
        slo = Slo(arguments.slo_ttft or engine.slo_ttft_s, arguments.slo_itl or engine.slo_itl_s)
        shown.append((name, engine.settings, outcome, summarise(outcome, engine.settings.usable_blocks, slo)))
    if arguments.output == "json":
        candidates = [{"name": name, **simulation_json(settings, outcome, summary)} for name, settings, outcome, summary in shown]
        json.dump({"apiVersion": candidates[0]["apiVersion"], "kind": "WhatIf", "candidates": candidates}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(_table([(name, outcome, summary) for name, _, outcome, summary in shown]))
    return 1 if any(outcome.stuck for _, _, outcome, _ in shown) else 0


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
