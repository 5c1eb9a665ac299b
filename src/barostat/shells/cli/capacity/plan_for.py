"""`barostat plan MODEL --for '10/s input=2000 output=300'`, or `--for trace --trace FILE`: which
cards, how many, at what cost, with the twin's forecast for each.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from barostat.catalog.card_counts import read_card_count
from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.core.errors import InputError
from barostat.judge.provisioning.choice import choose
from barostat.judge.provisioning.need import Need, parse_need
from barostat.judge.provisioning.offers import Offer, offer
from barostat.judge.provisioning.recorded_load import RecordedLoad, recorded_load
from barostat.judge.sizing.plan import CapacityPlan, plan
from barostat.shells.cli.capacity import plan_inputs
from barostat.shells.cli.capacity.plan_compare import alternative, parts_of
from barostat.shells.cli.capacity.prices import prices_of
from barostat.shells.reports.capacity import offers
from barostat.shells.reports.sheet.forms import shown

USUAL_CARDS = ("L4", "L40S", "A100", "H100", "H200", "B200", "MI300X")
"""Cards to consider by default: those that clouds rent out."""
_TP = (1, 2, 4, 8)


def run(arguments: argparse.Namespace) -> int:
    """Try every card, print them ranked; 0 if one meets the need, 1 if none does."""
    need = parse_need(arguments.need, arguments.slo, _recorded(arguments))
    prices = prices_of(arguments.price)
    named = [
        part.strip() for text in arguments.compare or () for part in parts_of(text) if part.strip()
    ]
    named = (
        [part.strip() for part in arguments.gpu.split(",") if part.strip()] if arguments.gpu else []
    ) + named
    if not named:
        print(
            "barostat: no card is named, so those that clouds rent out are weighed: "
            f"{', '.join(USUAL_CARDS)} (--gpu)",
            file=sys.stderr,
        )
    found: list[Offer] = []
    for text in dict.fromkeys(named or USUAL_CARDS):
        found += _offers(arguments, text, need, prices, alone=len(named) == 1)
    model = next(
        (one.plan.request.model_name for one in found if one.plan is not None),
        arguments.model or "the model",
    )
    version = next((str(one.plan.request.version) for one in found if one.plan is not None), "")
    answer = offers.Answer(model, version, need, choose(_distinct(found)))
    if arguments.output == "json":
        print(json.dumps(offers.document(answer), indent=2, ensure_ascii=False))
    else:
        sys.stdout.write(shown(offers.offers_document(answer), arguments.output))
    return 0 if answer.choice.chosen is not None or arguments.exit_zero else 1


def _recorded(arguments: argparse.Namespace) -> RecordedLoad | None:
    """The requests of `--trace`, if it was given.

    Errors: InputError as `read_requests`, and for quantiles, which no load is made of.
    """
    for name in ("input_p50", "input_p99", "output_p50", "output_p99"):
        if getattr(arguments, name) is not None:
            raise InputError(
                "says nothing to --for: write the lengths into it (input=, output=), or --trace",
                f"--{name.replace('_', '-')}",
            )
    if arguments.trace is None:
        return None
    from barostat.io.input_files.requests_file import read_requests

    path = Path(arguments.trace)
    rows, problems = read_requests(path, BLOCK_TOKENS)
    for problem in problems:
        print(f"barostat: {problem}", file=sys.stderr)
    return recorded_load(rows, path.name)


def _distinct(tried: Sequence[Offer]) -> list[Offer]:
    """Return the offers without those that come to the same engines on as many of the same cards,
    as machines of 4 and of 8 do; the one that is kept has the names of both.
    """
    kept: dict[object, Offer] = {}
    for place, one in enumerate(tried):
        card = one.plan.request.card if one.plan is not None else None
        if card is None or one.plan is None or one.replicas is None:
            kept[place] = one
            continue
        asked, _, flags = one.name.partition(" ")
        key = (card.name, flags, one.cards_each, one.replicas, one.cards, one.most_cards)
        if (before := kept.get(key)) is not None:
            others = before.name.removesuffix(f" {flags}")
            one = replace(before, name=f"{others} or {asked} {flags}".rstrip())
        kept[key] = one
    return list(kept.values())


def _offers(
    arguments: argparse.Namespace, text: str, need: Need, prices: dict[str, float], *, alone: bool
) -> Iterator[Offer]:
    """The offers of one card: one for each way of spreading the model that starts, or why there is
    none.
    """
    refused: list[Offer] = []
    some = False
    for name, made, machine in _plans(arguments, text, need, alone=alone):
        print(f"barostat: trying {name} on the twin", file=sys.stderr)
        if isinstance(made, str):
            refused.append(Offer(name, refused=made))
            continue
        one = offer(name, made, need, _price(made, text, prices), machine)
        if one.plan is not None and not one.plan.fits:
            refused.append(one)
            continue
        some = True
        yield one
    if not some:
        yield from refused[-1:]


def _plans(
    arguments: argparse.Namespace, text: str, need: Need, *, alone: bool
) -> Iterator[tuple[str, CapacityPlan | str, int]]:
    """Name, plan and cards of a machine for each way of spreading the model over this card; a
    sentence where the engine refuses it.
    """
    changed = alternative(arguments, text)
    cards = read_card_count(changed.gpu or "")
    machine = 1 if cards is None or cards.count is None else cards.count
    if cards is not None and cards.count is not None:
        changed.gpu = cards.card.name
    given = (
        changed.tensor_parallel_size is not None
        or changed.pipeline_parallel_size is not None
        or plan_inputs.states(changed, "tensor_parallel_size", "pipeline_parallel_size")
    )
    length_given = changed.max_model_len is not None or plan_inputs.states(changed, "max_model_len")
    for size in (None,) if given else [size for size in _TP if machine == 1 or size <= machine]:
        changed.tensor_parallel_size = size or changed.tensor_parallel_size
        whole = size is None or (size == 1 and machine == 1)
        name = text if whole else f"{text} --tp {size}"
        try:
            made = plan(plan_inputs.asked(changed).request)
            if made.available.value > 0 and not made.fits and not length_given:
                shorter = argparse.Namespace(
                    **{**vars(changed), "max_model_len": need.longest_tokens}
                )
                name, made = (
                    f"{name} --max-model-len {need.longest_tokens}",
                    plan(plan_inputs.asked(shorter).request),
                )
            yield name, made, machine
        except InputError as error:
            if alone and size in (None, 1):
                raise
            yield name, str(error), machine


def _price(made: CapacityPlan, text: str, prices: dict[str, float]) -> float | None:
    card = made.request.card
    return prices.get(card.name if card is not None else text)
