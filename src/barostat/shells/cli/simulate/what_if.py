"""`barostat what-if`: today's configuration beside candidates, on the same workload."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import parse_duration, seconds
from barostat.shells.cli.simulate.from_engine_arguments import add_seen_arguments
from barostat.shells.cli.simulate.simulate import (
    add_engine_arguments,
    add_rate_argument,
    add_workload_arguments,
)
from barostat.shells.reports.json_text import json_text

if TYPE_CHECKING:
    from barostat.judge.experiments.candidates import Candidate
    from barostat.shells.cli.simulate.simulate_inputs import Engine
    from barostat.twin.outcome import Outcome
    from barostat.twin.settings import Settings
    from barostat.twin.summary import Slo, Summary

    Ends = dict[str, tuple[Summary, ...]]

EPILOG = """\
examples (with the files of `barostat example all`):
  barostat what-if --trace requests.jsonl --kv-blocks 4000 --max-num-seqs 128 --latency base=0.012,prefill=3e-5,kv=2e-8 \\
      --set max-num-seqs=48 --set watermark=0.05 --set max-num-seqs=64,watermark=0.02

  barostat what-if --from http://localhost:8000 --set max-num-seqs=48 --set watermark=0.05     # traffic of 30 observed seconds
  barostat what-if --from incident.tar.gz --set max-num-seqs=48 --slo-ttft 2
  barostat what-if --from incident.tar.gz --set load=2,input=3x,output=1.5x --slo-ttft 2     # is there capacity for tomorrow's traffic
  barostat what-if --from incident.tar.gz --until-it-breaks --set max-num-seqs=48 --slo-ttft 2     # which candidate carries more load
  barostat what-if --from deploy/vllm -n inference --set watermark=0.05     # uses the busiest replica

  barostat what-if --from http://localhost:8000 --engine-version 0.33.0     # compare with an upgrade; verdict: safe, watch or do not
  barostat what-if --model-config Qwen/Qwen3-8B --gpu H100 --engine-version 0.19.0..0.24.0 -o md

Each --set is one candidate; all else stays as it is today. A candidate combines
  engine settings            max-num-seqs=48,watermark=0.05 (NAME=off removes it), or as diagnose prints it: --set "--watermark 0.05"
  limits at the gateway      edge-input-cap=4096, edge-output-cap=512, edge-kv-budget=60000 (tokens)
  replicas                   replicas=3 or replicas=+1
  tomorrow's traffic         load=2 (twice the requests), input=3x, output=1.5x (longer prompts and outputs)
If gpu-memory-utilization, kv-cache-dtype, kv-cache-memory-bytes, tensor-parallel-size or enforce-eager changes, model and card must be
known: the new size of the pool is calculated from them.

exit codes, without an SLO: 0 compared. With an SLO: 0 a candidate meets it (without candidates: today's settings); 1 none does; 3 cannot
tell. For two versions: 0 safe; 3 watch; 1 do not. Always: 1 an engine would be stuck or would not start; 2 usage error or missing data;
4 unreachable or not vLLM
"""

_RUNS = 5
_NO_CANDIDATE = (
    "only today is shown: say what to try beside it with --set NAME=VALUE, such as --set "
    "max-num-seqs=48"
)
_COUNTS_OF_ONE = (
    "counts (preempted, recomputed, rejected) are of one replica and the requests that came to it"
)


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "what-if",
        help=("simulate a change: latency, goodput and preemptions, compared with today"),
        description="Simulate changes of settings, traffic or version, and compare them with today.",
        epilog=EPILOG,
    )
    add_seen_arguments(parser)
    add_workload_arguments(parser)
    add_rate_argument(parser)
    add_engine_arguments(parser, compares_versions=True)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE[,...]",
        dest="candidates",
        help="one candidate to simulate (see below); repeatable",
    )
    parser.add_argument(
        "--slo-ttft",
        type=seconds,
        metavar="S",
        help="a good request has its first token within S seconds",
    )
    parser.add_argument(
        "--slo-itl",
        type=seconds,
        metavar="S",
        help="a good request has at most S seconds between tokens, on average",
    )
    parser.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="with --from: runs per candidate, with different random seeds (default 5)",
    )
    parser.add_argument(
        "--duration",
        type=parse_duration,
        metavar="TIME",
        help="with --from: length of each run (default: about 500 requests)",
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "md", "html"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Simulate every candidate and print them side by side."""
    from barostat.shells.cli.simulate import upgrade

    _check(arguments)
    if upgrade.is_asked(arguments):
        return upgrade.run(arguments)
    if arguments.output == "md":
        from barostat.core.errors import InputError

        raise InputError("is of a comparison of two versions: --engine-version OLD..NEW", "-o md")
    some = (
        arguments.source is not None
        or arguments.trace is not None
        or arguments.workload is not None
    )
    if some and not arguments.candidates:
        print(f"barostat: {_NO_CANDIDATE}", file=sys.stderr)
    if arguments.until_it_breaks and some:
        return _until_it_breaks(arguments)
    if arguments.source is not None:
        return _run_from(arguments)
    if arguments.trace is None and arguments.workload is None:
        from barostat.core.errors import InputError

        raise InputError(
            "say which traffic: --from URL, deploy/NAME or BUNDLE, --trace FILE or --workload SPEC",
            "what-if",
        )
    from barostat.shells.cli.simulate.simulate_inputs import engine_of
    from barostat.shells.reports.sheet import forms
    from barostat.shells.reports.simulation.candidates_table import candidate_rows, off_rows
    from barostat.shells.reports.simulation.data import engine_line, simulation_json
    from barostat.shells.reports.simulation.document import runs_document
    from barostat.shells.reports.simulation.slo_verdict import (
        exit_code_of,
        run_outlooks,
        verdict_json,
    )
    from barostat.twin.settings import would_not_start

    shown, ends, notes = _tried(arguments)
    slo = _slo_of(arguments)
    outlooks = run_outlooks(shown, ends, slo)
    if arguments.output == "json":
        candidates = [
            {
                "name": name,
                "sloOutlook": outlooks.get(name),
                **simulation_json(settings, outcome, summary, ends[name]),
            }
            for name, settings, outcome, summary in shown
        ]
        print(
            json_text(
                {
                    "apiVersion": candidates[0]["apiVersion"],
                    "kind": "WhatIf",
                    "slo": {"ttftSeconds": slo.ttft_s, "itlSeconds": slo.itl_s},
                    "verdict": verdict_json(outlooks),
                    "candidates": candidates,
                    "notes": notes,
                }
            )
        )
    else:
        title = arguments.workload or arguments.trace.name
        rows = candidate_rows(
            [(name, outcome, summary) for name, _, outcome, summary in shown], slo
        )
        other_load = _of_another_load(arguments)
        engine = engine_line(shown[0][1], engine_of(arguments).version)
        document = runs_document(
            title, shown, rows, slo, other_load, off_rows(ends), outlooks, notes, engine
        )
        sys.stdout.write(forms.shown(document, arguments.output))
    if any(outcome.stuck or would_not_start(settings) for _, settings, outcome, _ in shown):
        return 1
    return exit_code_of(outlooks)


def _tried(
    arguments: argparse.Namespace,
) -> tuple[list[tuple[str, Settings, Outcome, Summary]], Ends, list[str]]:
    """Today and every candidate, each on the traffic that the arguments name; each with steps as
    they may be; and notes.
    """
    from barostat.judge.experiments.trials import outcome_of
    from barostat.shells.cli.simulate.simulate_inputs import (
        engine_of,
        front_of,
        interval_of,
        load_of,
        pace_of,
    )
    from barostat.shells.cli.simulate.what_if_candidates import candidate_of, with_changes
    from barostat.twin.summary import Slo, summarise, together

    shown: list[tuple[str, Settings, Outcome, Summary]] = []
    ends: Ends = {}
    said: list[str] = []
    given = (
        pace_of(arguments, engine_of(arguments)) if arguments.latency is not None else None
    )  # a log is of today's pool
    for name in ("today", *arguments.candidates):
        changed = arguments if name == "today" else with_changes(arguments, name)
        tried, engine = today_of(arguments) if name == "today" else candidate_of(arguments, name)
        today, notes = load_of(changed, tried.settings)
        load = tried.traffic(today)
        counts = (_COUNTS_OF_ONE,) if tried.engines != 1.0 else ()
        for note in (*engine.notes, *notes, *tried.notes, *counts):
            if note not in said:
                said.append(note)
        pace = given or pace_of(changed, engine)
        slo = Slo(arguments.slo_ttft or engine.slo_ttft_s, arguments.slo_itl or engine.slo_itl_s)
        rows = load.rows(0)
        found = []
        for one in (pace, *interval_of(pace)):
            outcome = outcome_of(rows, tried.trial(0, one))
            found.append(
                (
                    outcome,
                    together(
                        summarise(outcome, tried.settings.usable_blocks, slo, front_of(one)),
                        tried.engines,
                    ),
                )
            )
        shown.append((name, tried.settings, *found[0]))
        ends[name] = tuple(summary for _, summary in found[1:])
    return shown, ends, said


def _slo_of(arguments: argparse.Namespace) -> Slo:
    """What today's engine is held to."""
    from barostat.shells.cli.simulate.simulate_inputs import engine_of
    from barostat.twin.summary import Slo

    engine = engine_of(arguments)
    return Slo(arguments.slo_ttft or engine.slo_ttft_s, arguments.slo_itl or engine.slo_itl_s)


def _of_another_load(arguments: argparse.Namespace) -> set[str]:
    """The candidates to which more or less comes than today. (More replicas are a change that may
    be better.)
    """
    from barostat.judge.experiments.candidates import ScaleLoad
    from barostat.shells.cli.simulate.set_option import changes_in

    return {
        name
        for name in arguments.candidates
        if any(isinstance(change, ScaleLoad) for change in changes_in(name))
    }


def today_of(arguments: argparse.Namespace) -> tuple[Candidate, Engine]:
    """The engine as the arguments have it."""
    from barostat.judge.experiments.candidates import Candidate
    from barostat.shells.cli.simulate.simulate_inputs import engine_of

    engine = engine_of(arguments)
    return Candidate("today", engine.settings), engine


def _until_it_breaks(arguments: argparse.Namespace) -> int:
    """Where today's engine and each candidate are lost, on the same load."""
    from barostat.core.errors import InputError
    from barostat.judge.experiments.candidates import Candidate
    from barostat.shells.cli.simulate.simulate_inputs import engine_of, interval_of, pace_of
    from barostat.shells.cli.simulate.situation import situation
    from barostat.shells.cli.simulate.until_it_breaks import find_and_print
    from barostat.shells.cli.simulate.what_if_candidates import candidate_of, with_changes
    from barostat.twin.summary import Slo

    if arguments.scale_rate != 1.0:
        raise InputError(
            "is what is looked for with --until-it-breaks: leave one of them", "--scale-rate"
        )
    now = situation(arguments, Slo(arguments.slo_ttft, arguments.slo_itl))
    notes, rows = list(now.notes), now.load.rows(0)
    found = [("today", now.settings, rows, now.paces)]
    seen = () if arguments.source is None else (now.sizing,)
    for name in arguments.candidates:
        tried, engine = candidate_of(now.arguments, name, *seen)
        if tried != Candidate(tried.name, tried.settings, pool=tried.pool, notes=tried.notes):
            raise InputError(
                "with --until-it-breaks a candidate is settings of the engine alone: leave "
                "the others out",
                f"--set {name}",
            )
        notes += [note for note in (*engine.notes, *tried.notes) if note not in notes]
        paces = tuple(tried.trial(0, pace).pace for pace in now.paces)
        if arguments.source is None and arguments.latency is None:  # a log is of today's pool
            pace = pace_of(with_changes(now.arguments, name), engine)
            paces = (pace, *interval_of(pace))
        found.append((name, tried.settings, rows, paces))
    for note in notes:
        print(f"barostat: {note}", file=sys.stderr)
    return find_and_print(found, now.slo, arguments.output, engine_of(now.arguments).version)


def _check(arguments: argparse.Namespace) -> None:
    """Nothing, where all options can act.

    Errors: InputError naming the first that cannot, and what it needs.
    """
    from barostat.core.errors import InputError
    from barostat.shells.cli.simulate.unused_options import (
        refuse_idle,
        refuse_idle_engine,
        refuse_live,
        refuse_no_time,
    )
    from barostat.shells.cli.simulate.what_if_candidates import with_changes

    refuse_live(arguments)
    refuse_idle(arguments, arguments.source, "--from")
    refuse_no_time(arguments)
    if arguments.runs is not None and (arguments.source is None or arguments.trace is not None):
        raise InputError(
            "belongs to --from without --trace: other traffic is one and the same in every run",
            "--runs",
        )
    if arguments.duration is not None and (
        arguments.source is None or arguments.trace is not None or arguments.workload is not None
    ):
        raise InputError(
            "belongs to --from without --trace or --workload: other traffic has its own length",
            "--duration",
        )
    for candidate in arguments.candidates:  # before an engine is looked at
        changed = with_changes(arguments, candidate)
        if arguments.source is None:
            refuse_idle_engine(changed, f"--set {candidate}")


def _run_from(arguments: argparse.Namespace) -> int:
    """The same for an engine that runs, on its own traffic."""
    from barostat.core.errors import InputError
    from barostat.judge.experiments.candidates import Candidate
    from barostat.judge.experiments.side_by_side import compare, far_off
    from barostat.shells.cli.simulate.simulate_inputs import engine_of
    from barostat.shells.cli.simulate.situation import situation
    from barostat.shells.cli.simulate.what_if_candidates import candidate_of
    from barostat.shells.reports.sheet import forms
    from barostat.shells.reports.simulation.data import engine_line
    from barostat.shells.reports.simulation.document import compared_document
    from barostat.shells.reports.simulation.side_by_side import what_if_json
    from barostat.shells.reports.simulation.slo_verdict import (
        compared_outlooks,
        exit_code_of,
    )
    from barostat.twin.settings import would_not_start
    from barostat.twin.summary import Slo

    runs = _RUNS if arguments.runs is None else arguments.runs
    if not 1 <= runs <= 100:
        raise InputError("must be 1 to 100", f"--runs {runs}")
    if arguments.scale_rate != 1.0:
        raise InputError(
            "belongs to --trace or --workload without --from; with it, --set load=X is the same",
            "--scale-rate",
        )
    now = situation(arguments, Slo(arguments.slo_ttft, arguments.slo_itl))
    if arguments.trace is None and arguments.workload is not None and not now.load.rows(0):
        raise InputError(
            "holds no request: make it longer, or its rate higher",
            f"--workload {arguments.workload}",
        )
    versions = 1 if arguments.trace is not None else runs
    notes = list(now.notes)
    candidates = [Candidate("today", now.settings)]
    for name in arguments.candidates:
        tried, engine = candidate_of(now.arguments, name, now.sizing, now.replicas)
        candidates.append(tried)
        notes += [note for note in (*engine.notes, *tried.notes) if note not in notes]
        if (refused := would_not_start(tried.settings)) and not would_not_start(now.settings):
            notes.append(f"{name} WOULD NOT START: {refused}")
    shown = [compare(one, now.load, now.slo, now.paces, versions) for one in candidates]
    off = far_off(shown[0], now.measured, now.within) if now.traffic is not None else ()
    if off:
        notes.append(
            "the twin of today's engine is far from what was measured in "
            f"{', '.join(off)}: trust differences less than they look"
        )
    outlooks = compared_outlooks(shown, now.slo)
    if arguments.output == "json":
        found = what_if_json(
            shown, now.slo, arguments.source, now.traffic, now.paces[0], now.measured, notes
        )
        print(json_text(found))
    else:
        document = compared_document(
            arguments.source,
            shown,
            now.slo,
            now.measured,
            notes,
            now.within,
            _of_another_load(arguments),
            engine_line(now.settings, engine_of(now.arguments).version),
        )
        sys.stdout.write(forms.shown(document, arguments.output))
    if any(one.stuck or would_not_start(one.settings) for one in shown):
        return 1
    return exit_code_of(outlooks)
