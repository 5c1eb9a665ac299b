"""`barostat tune`: the settings with the best goodput under given service levels, searched on the
twin, on all cores.
"""

from __future__ import annotations

import argparse
import copy
import sys
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import parse_duration, seconds
from barostat.shells.cli.gated_streams import own
from barostat.shells.cli.simulate.from_engine_arguments import add_seen_arguments
from barostat.shells.cli.simulate.simulate import add_engine_arguments, add_workload_arguments
from barostat.shells.reports.json_text import json_text

if TYPE_CHECKING:
    from barostat.judge.experiments.tuning import Results
    from barostat.shells.cli.simulate.situation import Situation
    from barostat.shells.reports.tuning.tuned import Tuned

EPILOG = """\
examples (with the files of `barostat example all`):
  barostat tune --from http://localhost:8000 --slo-ttft-p99 2 --slo-itl-p99 0.1
  barostat tune --from deploy/vllm -n inference --for 2m --slo-ttft-p99 2
  barostat tune --from incident.tar.gz --slo-ttft-p99 5 --lever max-num-seqs --lever watermark --lever edge-input-cap
  barostat tune --trace requests.jsonl --model-config Qwen/Qwen3-8B --gpu H100 --slo-ttft-p99 1 -o args

levers: max-num-seqs (max-num-active-seqs if the version has it), max-num-batched-tokens, watermark, long-prefill-token-threshold;
on request (--lever) also max-num-queued-reqs, edge-input-cap, edge-output-cap, edge-kv-budget
The result is then validated on requests that the search has not used. This adds at most 12 runs, 6 per lever if there are several, 60 for
the other rows of the table, and 4 if step times are estimates. The progress line counts both.
Ctrl-C prints the best result so far. The result does not depend on the number of cores.

exit codes: 0 found; 2 usage error or missing data; 3 no setting meets the SLO; 4 unreachable or not vLLM
"""
_NO_ARGUMENTS = (
    "{}: the engine would not start, no arguments are given (a smaller --max-model-len, or a "
    "larger pool)"
)


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "tune",
        help="find the engine settings with the best goodput for an SLO",
        description=(
            "Find, by simulation, the vLLM settings that serve the most requests per second within "
            "the SLO."
        ),
        epilog=EPILOG,
    )
    wanted = parser.add_argument_group("SLO (at least one, or a --limits file with an SLO)")
    wanted.add_argument(
        "--slo-ttft-p99",
        type=seconds,
        metavar="S",
        help="p99 of the time to first token, in seconds",
    )
    wanted.add_argument(
        "--slo-itl-p99",
        type=seconds,
        metavar="S",
        help="p99 of the time between tokens, in seconds",
    )
    wanted.add_argument(
        "--max-refused", type=float, default=0.01, metavar="RATIO",
        help="maximum share of rejected requests (default 0.01); rejected requests miss the SLO",
    )  # fmt: skip
    how = parser.add_argument_group("search")
    how.add_argument(
        "--lever",
        action="append",
        default=[],
        metavar="NAME",
        dest="levers",
        help="search only this lever; repeatable",
    )
    how.add_argument(
        "--budget",
        type=int,
        default=300,
        metavar="N",
        help="maximum number of simulation runs for the search (default 300)",
    )
    how.add_argument(
        "--cores", type=int, metavar="N", help="number of worker processes (default: one per core)"
    )
    how.add_argument(
        "--duration",
        type=parse_duration,
        metavar="TIME",
        help="with --from: length of each run (default: about 500 requests)",
    )
    add_seen_arguments(parser)
    add_workload_arguments(parser)
    add_engine_arguments(parser)
    parser.add_argument(
        "-o", "--output", choices=("table", "json", "args", "md", "html"), default="table"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Search, prove, print."""
    from barostat.core.errors import InputError
    from barostat.io.parallel_trials import Cores
    from barostat.judge.experiments.trials import PartsOf
    from barostat.judge.experiments.tuning import Results, search, search_version
    from barostat.judge.experiments.tuning_proof import most_runs, prove
    from barostat.judge.experiments.tuning_space import space_of, usual
    from barostat.shells.cli.simulate.situation import situation
    from barostat.shells.cli.simulate.too_long import too_long
    from barostat.shells.cli.simulate.unused_options import refuse_idle, refuse_live
    from barostat.shells.reports.tuning.tuned import (
        Tuned,
        beside_args,
        shown_points,
        tune_args,
        tune_json,
    )
    from barostat.twin.settings import would_not_start
    from barostat.twin.summary import Slo

    for name in ("slo_ttft_p99", "slo_itl_p99"):
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            raise InputError(
                f"{value:g} is no time; it must be above 0", f"--{name.replace('_', '-')}"
            )
    if not 0 <= arguments.max_refused <= 1:
        raise InputError(
            f"{arguments.max_refused:g} is no share; 0 to 1 was expected", "--max-refused"
        )
    if not 10 <= arguments.budget <= 100_000 or (
        arguments.cores is not None and not 1 <= arguments.cores <= 1024
    ):
        raise InputError("--budget must be 10 to 100000, --cores 1 to 1024", "tune")
    refuse_live(arguments)
    refuse_idle(arguments, arguments.source, "--from")
    now = situation(
        arguments,
        Slo(arguments.slo_ttft_p99, arguments.slo_itl_p99, arguments.max_refused),
        whole_trace=False,
    )
    if now.slo.ttft_s is None and now.slo.itl_s is None:
        raise InputError(
            "an SLO is needed: --slo-ttft-p99 S, --slo-itl-p99 S, or --limits FILE with an SLO",
            "tune",
        )
    if arguments.output == "args":
        for note in now.notes:
            print(f"barostat: {note}", file=sys.stderr)
    if arguments.output == "args" and (refused := would_not_start(now.settings)):
        raise InputError(_NO_ARGUMENTS.format(refused), "tune -o args")
    sample = now.load.rows(search_version(0))
    if not sample:
        raise InputError("the load has no request", "tune")
    if told := too_long(now.settings, now.load.trace if isinstance(now.load, PartsOf) else sample):
        beyond = told.ratio > arguments.max_refused
        never = (
            (f": more than --max-refused {arguments.max_refused:g}, so no setting meets the SLO")
            if beyond
            else ""
        )
        print(f"barostat: {told.words}{never}", file=sys.stderr)
    levers = tuple(dict.fromkeys(arguments.levers)) or usual(now.settings)
    space = space_of(
        now.settings,
        levers,
        [row.input_tokens for row in sample],
        [row.output_tokens for row in sample],
    )
    shown = _Progress(arguments.budget + most_runs(space, now.paces))
    cores = Cores(now.load, now.slo, arguments.cores, shown.trial)
    results = Results(space, now.slo, now.paces[0], cores.run, shown.batch, arguments.budget)
    try:
        try:
            best = search(results, arguments.seed)
        except KeyboardInterrupt:
            results.stopped = True
            best = results.best()
        if not results.runs and results.stopped:
            raise KeyboardInterrupt
        shown.say(
            "stopped: this is the best so far"
            if results.stopped
            else "validating the winner on requests that the search has not used"
        )
        proof = (
            None
            if results.stopped
            else prove(
                space,
                best,
                now.slo,
                now.paces,
                cores.run,
                _held_out(now),
                shown_points(results, best),
            )
        )
        results.stopped = results.stopped or cores.stopped
    finally:
        cores.close()
        shown.end()
    tuned = Tuned(results, best, proof, now.slo, now.notes)
    if arguments.output == "json":
        print(json_text(tune_json(tuned)))
    elif arguments.output == "args":
        _refuse_to_start(now, tuned)
        if said := beside_args(tuned):
            shown.say(said)
        sys.stdout.write(tune_args(tuned))
    else:
        from barostat.shells.reports.sheet import forms
        from barostat.shells.reports.tuning.document import tune_document

        title = arguments.source or arguments.workload or arguments.trace.name
        sys.stdout.write(forms.shown(tune_document(title, tuned), arguments.output))
    return 3 if tuned.holds is False else 0


def _held_out(now: Situation) -> int:
    """How many versions of the load there are for the proof: of a short trace fewer than it
    takes.
    """
    from barostat.judge.experiments.trials import PartsOf
    from barostat.judge.experiments.tuning_proof import VERSIONS

    return now.load.parts // 2 if isinstance(now.load, PartsOf) else VERSIONS


def _refuse_to_start(now: Situation, tuned: Tuned) -> None:
    """Nothing, where an engine with the arguments that are about to be printed would start.

    Errors: InputError with the reason where it would not.
    """
    from barostat.core.errors import InputError
    from barostat.core.proposed_change import SetFlag
    from barostat.shells.cli.simulate.simulate_inputs import engine_of
    from barostat.shells.cli.simulate.what_if_candidates import with_flags
    from barostat.twin.settings import would_not_start

    flags = [
        SetFlag(name.replace("-", "_"), value)
        for name, value in tuned.flags.items()
        if value is not None
    ]
    kept = copy.copy(now.arguments)
    if "max-num-active-seqs" in tuned.flags:  # moved, or left out
        kept.max_num_active_seqs = None
    try:
        settings = engine_of(with_flags(kept, flags, "the arguments found")).settings
    except InputError as error:
        raise InputError(
            f"an engine with the settings found would not start ({error.what}): no "
            "arguments are given",
            "tune -o args",
        ) from None
    if refused := would_not_start(settings):
        raise InputError(_NO_ARGUMENTS.format(refused), "tune -o args")


class _Progress:
    """One line on stderr where that is a terminal; else a line for each batch."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._before = 0
        self._best = ""
        self._good = 0.0
        self._live = sys.stderr.isatty()

    def trial(self, done: int, _of: int) -> None:
        """One more trial is done."""
        if self._live:
            print(
                f"\r\x1b[K{self._before + done} of at most {self._limit} runs{self._best}",
                end="",
                file=own(sys.stderr),
                flush=True,
            )

    def batch(self, results: Results) -> None:
        """A batch is done: the best so far is shown."""
        from barostat.judge.experiments.tuning_proof import summary_of

        self._before = results.spent
        if results.runs:
            best = results.best()
            runs = results.runs[best]
            good = sum(run.good_per_s for run in runs) / len(runs)
            if not results.score(best).holds:
                self._best = self._best or "; none meets the SLO yet"
            elif (
                good > self._good
            ):  # with more runs of it an estimate may fall: what is shown only rises
                self._good = good
                self._best = (
                    f"; best so far {good:.3g} good/s with "
                    f"{summary_of(results.space.changed(best))}"
                )
        if not self._live:
            print(
                f"barostat: {results.spent} of at most {self._limit} runs{self._best}",
                file=sys.stderr,
            )

    def say(self, text: str) -> None:
        """A sentence on a line of its own."""
        self.end()
        print(f"barostat: {text}", file=sys.stderr)

    def end(self) -> None:
        """The line is clear."""
        if self._live:
            print("\r\x1b[K", end="", file=own(sys.stderr), flush=True)
