"""`barostat plan`: how much fits, and which limits follow."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from barostat.core.errors import InputError
from barostat.shells.cli.capacity.plan_arguments import START_FORMATS, add_arguments

EPILOG = """\
examples:
  barostat plan --model Qwen/Qwen3-8B --gpu H100                       a model and a card from the built-in catalogue
  barostat plan --model-config ./config.json --gpu L40S --tp 2         any model's config.json
  barostat plan --gpu H100 -- vllm serve Qwen/Qwen3-8B --max-model-len 32768
  barostat plan --model Qwen/Qwen3-8B --available-kv-gib 57.5          the pool as the engine's log states it
  barostat plan --model Qwen/Qwen3-8B --gpu H100 --trace azure_conv.csv.gz -o limits > limits.yaml
  barostat plan --model Qwen/Qwen3-8B --compare H100 --compare "A100 --tp 2" --compare "L40S --kv-cache-dtype fp8"
  barostat plan Qwen/Qwen3-8B --for '10/s input=2000 output=300' --slo ttft=2s,itl=50ms --gpu H100,MI300X,L40S --price H100=2.5,L40S=0.9
  barostat plan --from http://localhost:8000 --model Qwen/Qwen3-8B     what a running engine really has
  barostat plan --from deploy/vllm -n inference --model Qwen/Qwen3-8B  the same for one in a cluster

exit codes: 0 fits, 1 does not start (too large, or an argument that this vLLM refuses), 2 wrong configuration,
3 unknown architecture, 4 the engine could not be asked
"""


LIST = "list"
"""In place of a name: all that the catalogue has."""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "plan",
        help="how much fits on a GPU, and which limits follow",
        description=(
            "From a model, a card and vLLM's flags: KV memory, blocks, tokens, requests, "
            "whether it starts, what limits follow."
        ),
        epilog=EPILOG,
    )
    add_arguments(parser)
    parser.add_argument(
        "command",
        nargs="*",
        metavar="MODEL | -- vllm serve ...",
        help="a model, or vLLM's own command line",
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


def run(arguments: argparse.Namespace) -> int:
    """Plan, print; answer 0 fits, 1 does not, 3 unknown architecture."""
    from barostat.shells.cli.capacity import plan_compare, plan_inputs
    from barostat.shells.reports.capacity import plan_views

    if LIST in (arguments.gpu, arguments.model):
        print("\n".join(known_names(cards=arguments.gpu == LIST)))
        return 0
    _take_model(arguments)
    plan_inputs.refuse_stray_words(arguments)
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
        print(plan_views.render(answer, arguments.output))
    if not answer.plan.request.model.known:
        print(f"barostat: {answer.plan.request.model.notes[-1]}", file=sys.stderr)
        return 3
    return 0 if answer.starts or arguments.exit_zero else 1
