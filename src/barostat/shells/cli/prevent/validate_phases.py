"""The phases of a validation, one after the other, and the knee; what they prove is judged
elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.io.input_files.limits_file import load
from barostat.io.manifests.read import read_file
from barostat.judge.load_test.figures import Figures, figures
from barostat.judge.load_test.knee import Bisection, Knee, judged
from barostat.judge.load_test.proof import Check, Phase, Proof, beyond, interrupted, proved
from barostat.judge.load_test.served_model import model_check
from barostat.judge.load_test.traffic import (
    Allowed,
    Traffic,
    allowed,
    as_many,
    at_rate,
    burst,
    first_at_once,
    mixed,
    worst_mix,
)
from barostat.judge.manifest_check.limits_document import limits_of
from barostat.lint.limits_digest import limits_digest
from barostat.load.process import carried_out, understood
from barostat.load.run import RunBounds
from barostat.load.target import Target
from barostat.shells.cli.prevent.load_inputs import rows_of, said_on_the_way
from barostat.shells.reports.load.validation import Validated
from barostat.twin.request import Row
from barostat.twin.summary import Slo

_LEAST, _MOST_ROWS = 60, 50_000
_LONGEST_TRIAL_S = 300.0
_OVER_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Validation:
    """What is to be proved, and how. `own`: the traffic that was named; else every length that the
    limits allow.
    """

    limits_file: Path
    limits: ServingLimits
    digest: str
    most: Allowed
    own: Traffic | None
    phase_s: float
    drain_s: float
    at_ratio: float
    wants_knee: bool
    knee_from_per_s: float | None
    trials: int
    within_ratio: float

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Validation:
        """Errors: InputError for files and arguments that prove nothing."""
        limits = load(arguments.limits)
        own = None
        if arguments.workload is not None or arguments.trace is not None:
            rows, notes = rows_of(arguments.workload, arguments.trace, arguments.seed, None)
            for note in notes:
                print(f"barostat: {note}", file=sys.stderr)
            own = first_at_once(Traffic(tuple(rows), 0, arguments.workload or arguments.trace.name))
            if own.rate_per_s is None:
                raise InputError(
                    "has no arrivals in time (closed loop, sessions): the third phase is open loop",
                    "--workload",
                )
        document = read_file(arguments.limits)
        read = next(
            (found for root in document.roots if (found := limits_of(document, root)) is not None),
            None,
        )
        if read is None:
            raise InputError("is no ServingLimits document with a kind", str(arguments.limits))
        if arguments.knee_from is not None and not 1e-4 <= arguments.knee_from <= 1e5:
            raise InputError(
                f"must be 0.0001 to 100,000, not {arguments.knee_from:g}", "--knee-from"
            )
        return cls(
            arguments.limits, limits, limits_digest(read), allowed(limits, str(arguments.limits)), own, arguments.phase, arguments.drain,
            arguments.at, arguments.knee, arguments.knee_from, arguments.trials, arguments.within,
        )  # fmt: skip

    @property
    def slo(self) -> Slo:
        """The service level that the limits promise."""
        return Slo(self.limits.spec.slo.ttft_p99_seconds, self.limits.spec.slo.itl_p99_seconds)

    def carried_out(self, target: Target) -> Validated:
        """Every phase, and the knee where it is asked for; less where a person stopped it."""
        checks: list[Check] = []
        if model := model_check(self.limits.spec.model, (target.model, *target.origins)):
            if model.standing == "fail":
                return self._validated(target, proved([], self.limits, [model]), stopped=False)
            checks = [model]
        target = understood(target)
        print(f"barostat: {target.named}", file=sys.stderr)
        phases = [
            self._phase(
                target, "worst-mix", worst_mix(self.most), RunBounds(self.phase_s, self.drain_s)
            )
        ]
        capacity = phases[0].found
        if _worth_more(phases):
            bursts = burst(self.most, self.phase_s / 2)
            phases.append(
                self._phase(
                    target,
                    "burst",
                    bursts,
                    RunBounds(None if self._reaches(bursts) else self.phase_s, self.drain_s),
                )
            )
        knee: Knee | None = None
        stopped = False
        if _worth_more(phases):
            found, stopped = self._beyond(target)
            checks += found
        if _worth_more(phases) and not stopped:
            rate = self.at_ratio * self._capacity_per_s(capacity)
            phases.append(
                self._phase(
                    target,
                    "mixed",
                    self._at(rate, self.phase_s),
                    RunBounds(_LONGEST_TRIAL_S, self.drain_s),
                    per_slot=False,
                )
            )
        if self.wants_knee and _worth_more(phases) and not stopped:
            knee, stopped = self._knee(
                target, self.knee_from_per_s or self._capacity_per_s(capacity)
            )
            checks += [interrupted("knee")] if stopped else []
        proof: Proof = proved(phases, self.limits, checks, knee)
        stopped = stopped or any(phase.found.interrupted for phase in phases)
        return self._validated(target, proof, stopped=stopped)

    def _validated(self, target: Target, proof: Proof, *, stopped: bool) -> Validated:
        name = self.limits.name or ""
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Validated(
            target, str(self.limits_file), name, self.digest, self.slo, at, proof, stopped
        )

    def _reaches(self, traffic: Traffic) -> bool:
        return bool(traffic.rows) and traffic.rows[-1].arrival_s <= self.phase_s

    def _phase(
        self,
        target: Target,
        name: str,
        traffic: Traffic,
        bounds: RunBounds,
        *,
        per_slot: bool = True,
    ) -> Phase:
        print(f"barostat: {name}: {traffic.description}", file=sys.stderr)
        return Phase(name, traffic.description, self._sent(target, traffic, bounds, name), per_slot)

    def _sent(self, target: Target, traffic: Traffic, bounds: RunBounds, name: str) -> Figures:
        with said_on_the_way(f"{name}: ") as progress:
            return figures(carried_out(target, traffic, bounds, progress), self.slo)

    def _capacity_per_s(self, worst: Figures) -> float:
        """Requests of the third phase per second, reckoned from the tokens per second of the
        first.
        """
        tokens_per_s = worst.input_tokens_per_s + worst.output_tokens_per_s
        rows = self.own.rows if self.own is not None else mixed(self.most, 256, 1.0).rows
        return max(
            0.01,
            tokens_per_s / (sum(row.input_tokens + row.output_tokens for row in rows) / len(rows)),
        )

    def _at(self, per_s: float, for_s: float) -> Traffic:
        """The traffic at that rate, for so long, but at least so many requests that a p99 is
        one.
        """
        count = min(_MOST_ROWS, max(_LEAST, round(per_s * for_s)))
        made = at_rate(
            mixed(self.most, count, 1.0) if self.own is None else as_many(self.own, count), per_s
        )
        return Traffic(made.rows, 0, f"{made.description}, {per_s:.3g} requests/s")

    def _beyond(self, target: Target) -> tuple[list[Check], bool]:
        """One request beyond each limit of a request: is it refused? True if a person stopped
        it.
        """
        checks: list[Check] = []
        fields = self.limits.spec.request
        for name, field, given, row in (
            (
                "input-limit",
                "request.maxInputTokens",
                fields.max_input_tokens,
                (self.most.input_tokens + _OVER_TOKENS, 1),
            ),
            (
                "output-limit",
                "request.maxOutputTokens",
                fields.max_output_tokens,
                (1, self.most.output_tokens + _OVER_TOKENS),
            ),
        ):
            if given is not None:
                traffic = Traffic((Row("0", 0.0, *row),), 0, name)
                found = self._sent(target, traffic, RunBounds(None, self.drain_s), "beyond")
                if found.interrupted:
                    return [*checks, interrupted("beyond")], True
                checks.append(beyond(name, field, max(row), found))
        return checks, False

    def _knee(self, target: Target, start_per_s: float) -> tuple[Knee, bool]:
        """What the search found; True if a person stopped it."""
        search = Bisection(start_per_s, within_ratio=self.within_ratio, trials=self.trials)
        while (trial := search.following()) is not None:
            for_s = max(self.phase_s, min(trial.times * self.phase_s, _LONGEST_TRIAL_S))
            found = self._sent(
                target,
                self._at(trial.per_s, for_s),
                RunBounds(_LONGEST_TRIAL_S, self.drain_s),
                f"knee, {trial.per_s:.4g}/s",
            )
            if found.interrupted:
                return search.knee, True
            search.tell(tried := judged(trial, found, self.slo))
            description = (
                f"are too many: {tried.lost}"
                if tried.lost
                else f"cannot be told: {tried.unsure}"
                if tried.unsure
                else "hold"
            )
            print(
                f"barostat: knee: {trial.per_s:.4g} requests/s "
                f"{description}{', tried for longer' if trial.times > 1 else ''}",
                file=sys.stderr,
            )
        return search.knee, False


def _worth_more(phases: Sequence[Phase]) -> bool:
    """False if a person stopped it, or where most was not answered: what was carried says how
    much the next phases send.
    """
    return 2 * phases[0].found.ok >= phases[0].found.sent and not any(
        phase.found.interrupted for phase in phases
    )
