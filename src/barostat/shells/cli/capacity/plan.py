"""`barostat plan`: how much fits, and which limits follow."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from barostat.core.errors import InputError
from barostat.shells.cli.capacity.plan_arguments import (
    START_FORMATS,
    add_arguments,
    refuse_other_formats,
)

if TYPE_CHECKING:
    from barostat.judge.sizing.answer import CapacityAnswer

EPILOG = """\
examples:
  barostat plan Qwen/Qwen3-8B --gpu H100                            # does it fit, and how many requests
  barostat plan --gpu H100 -- vllm serve Qwen/Qwen3-8B --max-model-len 32768
  barostat plan --from deploy/vllm -n inference -o limits > limits.yaml
  barostat plan Qwen/Qwen3-8B --for '10/s input=2000 output=300' --slo ttft=2s,itl=50ms --gpu H100,L40S --price H100=2.5,L40S=0.9
  barostat plan Qwen/Qwen3-8B --for trace --trace requests.jsonl --slo ttft=2s --gpu H100   # cards for a recorded load

exit codes: 0 it starts; 1 it does not start (too large, or vLLM rejects an argument); 2 usage error or invalid file;
3 unknown architecture; 4 the engine could not be reached
"""


LIST = "list"
"""In place of a name: all that the catalogue has."""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "plan",
        usage="%(prog)s [MODEL | -- vllm serve ...] [OPTIONS]",
        help="compute what fits on a GPU, and the limits that follow",
        description=(
            "Compute, from a model, a card and vLLM's arguments: whether the engine starts, how many "
            "tokens and requests fit in its KV cache, and the limits that follow. With --for: which "
            "cards a load needs, and how many."
        ),
        epilog=EPILOG,
    )
    add_arguments(parser)
    parser.add_argument(
        "command",
        nargs="*",
        metavar="MODEL | -- vllm serve ...",
        help="a model name, or vLLM's own command line",
    )
    parser.set_defaults(run=run)


def _take_model(arguments: argparse.Namespace) -> None:
    """A model may stand by itself: `barostat plan Qwen/Qwen3-8B --gpu H100`."""
    if (
        len(arguments.command) == 1
        and arguments.command[0] != "vllm"
        and arguments.model is None
        and arguments.model_config is None
    ):
        arguments.model, arguments.command = arguments.command[0], []


def known_names(*, cards: bool) -> list[str]:
    """The names of the catalogue: of cards with their memory, or of models."""
    from barostat.catalog.cards import CARDS
    from barostat.catalog.models import model_names
    from barostat.core.units import gib

    return (
        [f"{card.name:32} {gib(card.memory_bytes[0])}" for card in CARDS]
        if cards
        else sorted(model_names())
    )


def _shown(answer: CapacityAnswer, output: str) -> str:
    from barostat.io.input_files.limits_file import render
    from barostat.shells.reports.capacity.plan_data import plan_json
    from barostat.shells.reports.capacity.plan_document import plan_document
    from barostat.shells.reports.json_text import json_text
    from barostat.shells.reports.sheet.forms import shown

    match output:
        case "json":
            return f"{json_text(plan_json(answer))}\n"
        case "yaml":
            import yaml

            return str(
                yaml.safe_dump(plan_json(answer), sort_keys=False, allow_unicode=True, width=140)
            )
        case "limits":
            return render(answer.derived.limits)
        case _:
            return shown(plan_document(answer), output)


def run(arguments: argparse.Namespace) -> int:
    """Plan, print; answer 0 fits, 1 does not, 3 unknown architecture."""
    from barostat.shells.cli.capacity import plan_compare, plan_inputs

    if LIST in (arguments.gpu, arguments.model):
        print("\n".join(known_names(cards=arguments.gpu == LIST)))
        return 0
    _take_model(arguments)
    plan_inputs.refuse_stray_words(arguments)
    refuse_other_formats(arguments)
    if arguments.need is not None:
        from barostat.shells.cli.capacity import plan_for

        return plan_for.run(arguments)
    if arguments.price and not arguments.compare:
        raise InputError("belongs to --for, which says how much load there is", "--price")
    if arguments.slo and (arguments.compare or arguments.output != "limits"):
        raise InputError(
            "belongs to --for, which says how much load there is, or to -o limits, which "
            "keeps it as slo",
            "--slo",
        )
    if arguments.compare:
        return plan_compare.run(arguments)
    asked = plan_inputs.asked(arguments)
    if arguments.output in (*START_FORMATS, "limits"):
        for note in asked.notes:
            print(f"barostat: {note}", file=sys.stderr)
    answer = plan_inputs.about(plan_inputs.answer(asked), arguments.source)
    if arguments.slo:
        answer = plan_inputs.promising(answer, arguments.slo)
    if arguments.output in START_FORMATS:
        from barostat.judge.sizing.engine_start import engine_start
        from barostat.shells.reports.capacity.start_forms import START_FORMS

        start = engine_start(
            answer.plan, answer.derived.limits.spec.engine, asked.given, asked.running
        )
        print(START_FORMS[arguments.output](start))
    else:
        print(_shown(answer, arguments.output), end="")
    if not answer.plan.request.model.known:
        print(f"barostat: {answer.plan.request.model.notes[-1]}", file=sys.stderr)
        return 3
    return 0 if answer.starts or arguments.exit_zero else 1
