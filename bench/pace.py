"""How well predicted steps agree with measured closed-loop points: time per token and time to the
first one.

    python bench/pace.py POINTS.jsonl --models DIR [--models DIR] [--leave-out pair card model version]
    [--as-shipped] [--peer-env DIR [--peer-every N]] [--out REPORT.md] [--keep]

Every point is predicted with its pair of model and card left out of the fit (all precisions and
versions of that pair together), as on a machine that nobody has measured; `--leave-out` takes out
all of its card, its model or its version instead, one after the other where several are named. `--as-shipped` takes the
speeds as they are in the catalogue instead, for points that were not fitted to. Beside it, on the
same points: the data sheet's figures alone, and aiconfigurator (bench/pace_peers.py). No point is
left out of the figures; what could not be answered is listed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench import pace_fit, pace_peers  # noqa: E402
from bench.kept import Figure, Kept, by_card, keep  # noqa: E402
from bench.pace_points import BUDGET_TOKENS, Point, points  # noqa: E402

from barostat.judge.sizing.planned_steps import doubt_of_plan  # noqa: E402
from barostat.kv.step_time.card_speeds import FITTED_SPEEDS  # noqa: E402
from barostat.kv.step_time.closed_loop import closed_loop  # noqa: E402
from barostat.kv.step_time.model import StepLoad  # noqa: E402

_WORST = 15


@dataclass(frozen=True)
class Answer:
    """A prediction of a point, in seconds."""

    point: Point
    ttft_s: float
    tpot_s: float

    @property
    def tpot_off(self) -> float:
        """Predicted over measured, less one."""
        return self.tpot_s * 1e3 / float(self.point.row["tpot_ms"]) - 1

    @property
    def ttft_off(self) -> float:
        """The same of the time to the first token."""
        return self.ttft_s * 1e3 / float(self.point.row["ttft_ms"]) - 1


@dataclass(frozen=True)
class DataSheet:
    """Steps as the data sheet's figures alone have them: three quarters of the bandwidth, half of
    the 16-bit operations, 2 ms a step.
    """

    point: Point

    def step_s(self, load: StepLoad) -> float:
        """Weights are read once, the cache once for each request, and every parameter is multiplied
        with every token.
        """
        work, card = self.point.steps.work, self.point.steps.card
        experts = work.experts
        parameters = sum(product.parameters for product in work.products)
        parameters += experts.each.parameters * experts.held * experts.layers if experts else 0.0
        read_bytes = (
            work.weights_bytes + load.cached_tokens * self.point.made.kv_bytes_per_token_per_gpu
        )
        flops = 2 * parameters * (load.prompt_tokens + load.decodes)
        return (
            0.002
            + read_bytes / (0.75 * card.bandwidth_bytes_per_s)
            + flops / (0.5 * card.flops_16bit)
        )

    def front_s(self, prompt_tokens: float) -> float:
        """Nothing beside the steps."""
        return 0.0 * prompt_tokens

    @property
    def delivery_steps(self) -> float:
        """None."""
        return 0.0


LEFT_OUT: Mapping[str, Callable[[Point], str]] = {
    "pair": lambda point: " on ".join(point.pair),
    "card": lambda point: point.pair[1],
    "model": lambda point: point.pair[0],
    "version": lambda point: point.row["vllm_version"] or "not stated",
}
"""What points are left out together, by what that is called."""


def left_out(chosen: Sequence[Point], of: Callable[[Point], str]) -> list[Answer]:
    """Every point as predicted by a fit without all that it shares this with."""
    whole = pace_fit.fit(chosen)
    answers = []
    for name in sorted({of(point) for point in chosen}):
        speeds = pace_fit.fit([point for point in chosen if of(point) != name], whole)
        for point in chosen:
            if of(point) == name:
                found = pace_fit.see(point, speeds)
                answers.append(Answer(point, found.ttft_s, found.tpot_s))
        print(f"left out: {name}", file=sys.stderr)
    return answers


def shipped(chosen: Iterable[Point]) -> list[Answer]:
    """Every point as the catalogue's speeds have it."""
    answers = []
    for point in chosen:
        found = pace_fit.see(point, FITTED_SPEEDS)
        answers.append(Answer(point, found.ttft_s, found.tpot_s))
    return answers


def data_sheet(chosen: Iterable[Point]) -> list[Answer]:
    """Every point as the data sheet alone has it."""
    answers = []
    for point in chosen:
        found = closed_loop(
            DataSheet(point),
            point.clients,
            budget_tokens=BUDGET_TOKENS,
            pool_tokens=point.pool_tokens,
        )
        answers.append(Answer(point, found.ttft_s, found.tpot_s))
    return answers


def figures(name: str, answers: Sequence[Answer]) -> str:
    """One row of a table."""
    if not answers:
        return f"| {name} | 0 | | | | | | |"
    tpot, ttft = (
        [abs(answer.tpot_off) for answer in answers],
        [abs(answer.ttft_off) for answer in answers],
    )
    bias = statistics.median(answer.tpot_off for answer in answers)
    near = sum(off <= 0.3 for off in tpot) / len(tpot)
    return (
        f"| {name} | {len(answers)} | {statistics.median(tpot):.1%} | {_ninth(tpot):.1%} | "
        f"{near:.1%} | {bias:+.1%} | "
        f"{statistics.median(ttft):.1%} | {_ninth(ttft):.1%} |"
    )


HEAD = (
    "| | points | time per token: median error | nine tenths | within 30 % | bias | first "
    "token: median error | nine tenths |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|"
)


def _ninth(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, math.ceil(0.9 * len(values)) - 1)]


def _groups(answers: Sequence[Answer], key: Callable[[Answer], str]) -> list[str]:
    names = sorted({key(answer) for answer in answers})
    return [figures(name, [answer for answer in answers if key(answer) == name]) for name in names]


def _kind(answer: Answer) -> str:
    work = answer.point.steps.work
    kind = "mixture of experts" if work.experts else "dense"
    return (
        f"{kind}, "
        f"{'MLA' if work.attention.latent else 'windows and full' if work.attention.windows else 'GQA'}"
    )


def covered(answers: Sequence[Answer]) -> str:
    """Whether the intervals that are shown hold what was measured."""
    inside, wide = 0, 0
    for answer in answers:
        doubt = doubt_of_plan(answer.point.made)
        row = answer.point.row
        assert doubt is not None
        at = doubt.at(
            StepLoad(
                decodes=answer.point.clients.number,
                cached_tokens=answer.point.clients.number * row["input_tokens"],
            )
        )
        inside += abs(answer.tpot_off) <= at.ratio
        wide += abs(answer.tpot_off) <= 1.64 * at.ratio
    shares = f"{inside / len(answers):.0%}; within 1.64 of it: {wide / len(answers):.0%}"
    return f"Within the interval that is shown (one standard deviation): {shares}."


def report(name: str, answers: Sequence[Answer], sheet: Sequence[Answer]) -> str:
    """The tables of one run."""
    worst = sorted(answers, key=lambda answer: -abs(answer.tpot_off))[:_WORST]
    lines = [
        HEAD, figures(name, answers), figures("the data sheet alone", sheet), "", covered(answers), "",
        "By pair of model and card:", "", HEAD, *_groups(answers, lambda answer: " on ".join(answer.point.pair)), "",
        "By card, kind of model and precision:", "", HEAD, *_groups(answers, lambda answer: answer.point.pair[1]),
        *_groups(answers, _kind), *_groups(answers, lambda answer: str(answer.point.row["precision"])),
        "", f"The {_WORST} that are farthest off in time per token:", "",
    ]  # fmt: skip
    for answer in worst:
        row = answer.point.row
        lines.append(
            f"- {answer.point.name}: {answer.tpot_s * 1e3:.2f} for {row['tpot_ms']:.2f} ms "
            f"({answer.tpot_off:+.0%}); "
            f"first token {answer.ttft_s * 1e3:,.0f} for {row['ttft_ms']:,.0f} ms"
        )
    return "\n".join(lines)


def beside(
    environment: Path, name: str, answers: Sequence[Answer], sheet: Sequence[Answer], every: int
) -> str:
    """The peer on every so-manieth point, ours and the data sheet on those that it answers."""
    found = pace_peers.set_up(environment)
    if isinstance(found, str):
        return f"No peer: {found}."
    python, package = found
    ours = {answer.point.row["id"]: answer for answer in answers}
    sheets = {answer.point.row["id"]: answer for answer in sheet}
    asked = [answer.point for answer in answers][::every]
    lines = [f"{package}, vLLM's tables of its newest version, every {every}. point:", "", HEAD]
    with tempfile.TemporaryDirectory() as folder:
        given = pace_peers.ask(python, asked, Path(folder), match_prompts=False)
    peer = [
        Answer(point, said.ttft_s, said.tpot_s)
        for point, said in zip(asked, given, strict=True)
        if said.tpot_s is not None and said.ttft_s is not None
    ]
    same = [answer.point.row["id"] for answer in peer]
    lines += [
        figures("aiconfigurator", peer),
        figures(f"{name}, same points", [ours[key] for key in same]),
    ]
    lines.append(figures("the data sheet alone, same points", [sheets[key] for key in same]))
    refused = sorted({said.why for said in given if said.why})
    lines.append(
        f"\nWithout an answer: {len(asked) - len(peer)} of {len(asked)}. {' / '.join(refused)}"
    )
    return "\n".join(lines)


def main() -> int:
    """Predicts, compares, reports."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("points", type=Path)
    parser.add_argument(
        "--models",
        type=Path,
        action="append",
        required=True,
        help="folder of config.json files, named ORG__NAME.json",
    )
    parser.add_argument(
        "--leave-out",
        choices=tuple(LEFT_OUT),
        nargs="+",
        default=["pair"],
        help="what the fit has not seen",
    )
    parser.add_argument(
        "--as-shipped", action="store_true", help="the catalogue's speeds, nothing fitted"
    )
    parser.add_argument(
        "--peer-env", type=Path, help="an environment of the peer's own; made if it is not there"
    )
    parser.add_argument(
        "--peer-every",
        type=int,
        default=1,
        help="ask the peer for every so-manieth point: it takes seconds for each",
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--keep",
        action="store_true",
        help="write bench/results/step-times.json, or step-times-left-out.json",
    )
    arguments = parser.parse_args()
    chosen, unknown = points(arguments.points, arguments.models)
    if not chosen:
        print(
            f"error: no usable point in {arguments.points}: {'; '.join(unknown[:3])}",
            file=sys.stderr,
        )
        return 2
    if arguments.as_shipped:
        runs = {"as shipped": shipped(chosen)}
    else:
        runs = {f"{one} left out": left_out(chosen, LEFT_OUT[one]) for one in arguments.leave_out}
    sheet = data_sheet(chosen)
    text = "\n\n".join(report(name, answers, sheet) for name, answers in runs.items())
    if unknown:
        text += f"\n\nNot predicted ({len(unknown)}):\n\n" + "\n".join(
            f"- {line}" for line in unknown
        )
    if arguments.peer_env:
        name, answers = next(iter(runs.items()))
        text += "\n\n" + beside(arguments.peer_env, name, answers, sheet, arguments.peer_every)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    if arguments.keep:
        if arguments.as_shipped:
            keep("step-times", _kept(runs, "--as-shipped"))
        else:
            options = " ".join(arguments.leave_out)
            keep("step-times-left-out", _kept(runs, f"--leave-out {options}"))
    return 0


def _kept(runs: Mapping[str, Sequence[Answer]], option: str) -> Kept:
    figures: list[Figure] = []
    for name, answers in runs.items():
        times = [("NVIDIA", answer.point.pair[1], abs(answer.tpot_off)) for answer in answers]
        first = [("NVIDIA", answer.point.pair[1], abs(answer.ttft_off)) for answer in answers]
        figures += by_card(times, f"time per token, {name}: error")
        figures += by_card(first, f"first token, {name}: error")
    return Kept(
        f"python bench/pace.py POINTS.jsonl --models DIR {option} --keep",
        "medians of public closed-loop runs of vLLM 0.11 to 0.19 (five models; bf16, fp8, fp4, int4)",
        figures,
        ["As shipped the model has seen these points; with a card, a model or a version left out, it has seen none that share it.",
         "No table of points of AMD cards that tells both times by concurrency is known: two pages of an MI300X set what they reach.",
         "Cards that no point was measured on rest on their data sheets."],
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
