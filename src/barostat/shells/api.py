"""The public Python API: what the verbs answer, as values that show well in a notebook. Few and
stable; `from barostat import ...`.

Each function takes what its verb takes, by the same names (`--max-model-len 8192` is
`max_model_len=8192`), and raises what the verb would say: InputError for what you can mend,
OutsideError for what the world did. Nothing is printed and nothing is written.
"""

from __future__ import annotations

import argparse
import html
import io
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barostat.core.diagnosis import CauseName, ReplicaReport
from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.core.shown import ShownReport
from barostat.judge.diagnosis.diagnose import Examination
from barostat.judge.sizing.answer import CapacityAnswer
from barostat.shells.cli.main import parser
from barostat.shells.cli.simulate.simulated_run import Simulated, simulated
from barostat.shells.reports.sheet.blocks import Document
from barostat.twin.summary import Summary

Limits = ServingLimits

WIDTH = 110
FRAME_PX = 620


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosed:
    """A diagnosis. `report` is the whole report; the properties are its main results."""

    examination: Examination

    @property
    def report(self) -> ShownReport:
        """The whole report."""
        return self.examination.report

    @property
    def worst(self) -> ReplicaReport:
        """The replica that is worst off."""
        from barostat.judge.diagnosis.fleet import badness

        return max(self.report.replicas, key=lambda replica: badness(replica.diagnosis))

    @property
    def cause(self) -> CauseName:
        """The cause named for the whole: `unknown` where it cannot be told."""
        return self.report.fleet.cause

    @property
    def summary(self) -> str:
        """One sentence."""
        return self.report.fleet.summary

    def to_dict(self) -> dict[str, Any]:
        """The document that `diagnose -o json` prints."""
        from barostat.shells.reports.diagnosis.data import report_json

        return report_json(self.report)

    def __repr__(self) -> str:
        return f"<Diagnosed {self.report.target}: {self.cause}>"

    def __str__(self) -> str:
        from barostat.shells.reports.diagnosis.document import report_document
        from barostat.shells.reports.sheet.forms import as_text

        return as_text(report_document(self.report, short=True), WIDTH)

    def _repr_html_(self) -> str:
        from barostat.shells.reports.diagnosis.document import report_document
        from barostat.shells.reports.sheet.forms import as_html

        return _framed(as_html(report_document(self.report, self.examination.shown)))


@dataclass(frozen=True, slots=True, repr=False)
class Planned:
    """How much fits on a card, and the limits that follow."""

    answer: CapacityAnswer

    @property
    def fits(self) -> bool:
        """True if the engine would start."""
        return self.answer.starts

    @property
    def limits(self) -> Limits:
        """The limits that follow, each with its reason."""
        return self.answer.derived.limits

    @property
    def kv_cache_tokens(self) -> int:
        """Tokens that the pool holds."""
        return self.answer.plan.pool.tokens

    def to_dict(self) -> dict[str, Any]:
        """The document that `plan -o json` prints."""
        from barostat.shells.reports.capacity.plan_data import plan_json

        return plan_json(self.answer)

    def __repr__(self) -> str:
        plan = self.answer.plan
        told = f"{self.kv_cache_tokens:,} tokens of KV cache" if self.fits else "does not start"
        return f"<Planned {plan.request.model_name}: {told}>"

    def __str__(self) -> str:
        from barostat.shells.reports.capacity.plan_document import plan_document
        from barostat.shells.reports.sheet.forms import as_text

        return as_text(plan_document(self.answer), WIDTH)

    def _repr_html_(self) -> str:
        from barostat.shells.reports.capacity.plan_document import plan_document
        from barostat.shells.reports.sheet.forms import as_html

        return _framed(as_html(plan_document(self.answer)))


@dataclass(frozen=True, slots=True, repr=False)
class SimulatedRun:
    """Result of simulating a workload on vLLM's scheduler."""

    run: Simulated

    @property
    def summary(self) -> Summary:
        """Goodput, latencies, preemptions, KV usage."""
        return self.run.summary

    def to_dict(self) -> dict[str, Any]:
        """The document that `simulate -o json` prints."""
        from barostat.shells.cli.simulate.shown_run import run_json

        return run_json(self.run)

    def __repr__(self) -> str:
        found = self.summary
        return f"<SimulatedRun {self.run.title}: {found.finished} of {found.requests} finished>"

    def __str__(self) -> str:
        from barostat.shells.reports.sheet.forms import as_text

        return as_text(self._document(), WIDTH)

    def _repr_html_(self) -> str:
        from barostat.shells.reports.sheet.forms import as_html

        return _framed(as_html(self._document()))

    def _document(self) -> Document:
        from barostat.shells.cli.simulate.shown_run import document_of

        return document_of(self.run)


def diagnose(source: str | Path, **options: Any) -> Diagnosed:
    """Diagnose the vLLM at a URL, in a cluster (`deploy/NAME`, namespace=...), in a bundle, or from
    the log of a failed start.

    Errors: InputError for any other source; OutsideError if it does not respond.
    """
    from barostat.judge.advice.tried_steps import advised

    words = str(source)
    if "://" in words or _is_workload(words):
        arguments = _arguments("diagnose", [words], options)
        from barostat.shells.cli.diagnose.diagnose import default_for_s
        from barostat.shells.cli.diagnose.gathering import gather

        if arguments.for_s is None:
            arguments.for_s = default_for_s(arguments)
        return Diagnosed(advised(gather(arguments).recording))
    if options:
        raise InputError("a recording takes no options", ", ".join(options))
    from barostat.io.bundles import bundle

    return Diagnosed(advised(bundle.read(Path(source))))


def plan(model: str | Path | None = None, gpu: str | None = None, **options: Any) -> Planned:
    """How much fits: `plan("Qwen/Qwen3-8B", "H100", max_model_len=32768)`.

    Errors: InputError for a model, a card or a flag that is not known or contradicts another.
    """
    from barostat.shells.cli.capacity import plan_inputs

    arguments = _arguments("plan", [], {"model": model, "gpu": gpu, **options})
    return Planned(plan_inputs.answer(plan_inputs.asked(arguments)))


def simulate(workload: str | None = None, **options: Any) -> SimulatedRun:
    """A workload through the twin: `simulate("poisson:rate=2,input=300,output=400,minutes=5",
    kv_blocks=1024, step_time=0.03)`.

    Errors: InputError for what is missing or cannot be.
    """
    return SimulatedRun(simulated(_arguments("simulate", [], {"workload": workload, **options})))


def read_limits(path: str | Path) -> Limits:
    """The limits of a file.

    Errors: InputError with line and column.
    """
    from barostat.io.input_files.limits_file import load

    return load(Path(path))


def _arguments(verb: str, words: list[str], options: dict[str, Any]) -> argparse.Namespace:
    """The verb's arguments, by its own grammar: what it refuses is refused in the same words."""
    for name, value in options.items():
        flag = f"--{name.removesuffix('_').replace('_', '-')}"
        if value is True:
            words = [*words, flag]
        elif value is False:
            words = [*words, f"--no-{flag[2:]}"]
        elif value is not None:
            words = [*words, flag, str(value)]
    complaint = io.StringIO()
    try:
        with redirect_stderr(complaint):
            return parser(verb).parse_args([verb, *words])
    except SystemExit:
        said = complaint.getvalue().strip().split(" (barostat")[0]
        raise InputError(said.partition(": ")[2], verb) from None


def _is_workload(text: str) -> bool:
    from barostat.io.kubernetes.recording.target import is_workload

    return is_workload(text) and not Path(text).exists()


def _framed(page: str) -> str:
    """A whole page in a cell of a notebook, its style kept to itself. No script runs in it."""
    style = f"width:100%;height:{FRAME_PX}px;border:0"
    return (
        f'<iframe sandbox srcdoc="{html.escape(page)}" style="{style}" title="barostat"></iframe>'
    )
