"""`barostat plan --compare`: several cards or sets of flags in one table."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from barostat.core.errors import InputError
from barostat.core.limits import API_VERSION
from barostat.core.units import GIB, figure
from barostat.judge.provisioning.offers import full_load_tokens_per_s
from barostat.judge.sizing.answer import CapacityAnswer
from barostat.shells.cli.capacity import plan_inputs
from barostat.shells.cli.capacity.plan_arguments import add_arguments
from barostat.shells.cli.capacity.prices import prices_of
from barostat.shells.reports.capacity.plan_data import plan_json
from barostat.shells.reports.json_text import json_text

Row = tuple[str, dict[str, Any] | None, str]
"""The requested configuration, its plan as data with its cost, or why there is none."""
_INPUT_TOKENS, _OUTPUT_TOKENS = 1000.0, 300.0
"""Mix of tokens that costs are of, where no traffic is given."""
_PRICED = ("per hour", "per M output", "per M tokens")


class _Words(argparse.ArgumentParser):
    """A parser that complains as we do."""

    def error(self, message: str) -> Any:
        """Raise instead of ending the process."""
        raise InputError(message, "--compare")


def run(arguments: argparse.Namespace) -> int:
    """Plan every alternative; 0 if at least one fits, 1 if none does."""
    prices = prices_of(arguments.price)
    rows: list[Row] = []
    answers: list[tuple[str, CapacityAnswer | None, str]] = []
    alternatives = [
        part.strip() for text in arguments.compare for part in parts_of(text) if part.strip()
    ]
    if arguments.gpu:
        alternatives.insert(0, arguments.gpu)
    if not alternatives:
        raise InputError("names no card and no flags; write it such as H100,MI300X", "--compare")
    for text in dict.fromkeys(alternatives):
        try:
            answer = plan_inputs.answer(plan_inputs.asked(alternative(arguments, text)))
            rows.append((text, plan_json(answer) | _costs(answer, prices), ""))
            answers.append((text, answer, ""))
        except InputError as error:
            rows.append((text, None, str(error)))
            answers.append((text, None, str(error)))
    if arguments.output == "json":
        plans = [{"alternative": text, **(made or {"error": why})} for text, made, why in rows]
        print(json_text({"apiVersion": API_VERSION, "kind": "CapacityComparison", "plans": plans}))
    else:
        from barostat.shells.reports.capacity.plan_document import comparison_document
        from barostat.shells.reports.sheet.forms import shown

        compared = comparison_document(
            _model(answers), answers, _cells(rows, prices), _cost_note(rows)
        )
        print(shown(compared, arguments.output), end="")
    if all(made is None for _, made, _ in rows):
        return 2
    return (
        0
        if arguments.exit_zero or any(made is not None and made["fits"] for _, made, _ in rows)
        else 1
    )


def parts_of(text: str) -> list[str]:
    """`H100,L40S` as two; a text with JSON or quotes in it is one."""
    return [text] if any(mark in text for mark in "{'\"") else text.split(",")


def alternative(arguments: argparse.Namespace, text: str) -> argparse.Namespace:
    """The same question with this card and these flags in place of the given ones.

    Errors: InputError where a quote is not closed, or a flag is wrong.
    """
    parser = _Words(add_help=False, allow_abbrev=False)
    add_arguments(parser)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(
            f"{text[:100]!r} is no command line ({str(error).lower()})", "--compare"
        ) from None
    if words and not words[0].startswith("-"):
        card = []
        while words and not words[0].startswith("-"):
            card.append(words.pop(0))
        words = ["--gpu", " ".join(card), *words]
    base = {
        name: value
        for name, value in vars(arguments).items()
        if name not in ("compare", "run", "verb")
    }
    changed = parser.parse_args(words)
    untouched = parser.parse_args([])
    base |= {
        name: value for name, value in vars(changed).items() if value != getattr(untouched, name)
    }
    return argparse.Namespace(**{**base, "compare": None})


def _costs(answer: CapacityAnswer, prices: dict[str, float]) -> dict[str, Any]:
    """Return what it costs as fields of the document; nothing without a price for its card."""
    plan = answer.plan
    card = plan.request.card
    if card is None or (price := prices.get(card.name)) is None:
        return {}
    mix = (
        (_INPUT_TOKENS, _OUTPUT_TOKENS)
        if answer.traffic is None
        else (answer.traffic.input.mean, answer.traffic.output.mean)
    )
    per_hour = plan.gpus * price
    tokens_per_s = full_load_tokens_per_s(plan, *mix)
    of_output = None if not tokens_per_s else per_hour / (tokens_per_s * 3600) * 1e6
    return {
        "costPerHour": per_hour,
        "costPerMillionOutputTokens": of_output,
        "costPerMillionTokens": None if of_output is None else of_output * mix[1] / sum(mix),
        "costMix": {"inputTokens": mix[0], "outputTokens": mix[1]},
    }


def _model(answers: list[tuple[str, CapacityAnswer | None, str]]) -> str:
    return next(
        (answer.plan.request.model_name for _, answer, _ in answers if answer is not None),
        "the model",
    )


def _cells(rows: list[Row], prices: dict[str, float]) -> list[tuple[str, ...]]:
    """The table as cells, the heading first; with the cost of an hour where prices are known."""
    head = (
        "alternative",
        "GPUs",
        "weights GiB/GPU",
        "KV GiB/GPU",
        "tokens",
        "concurrency",
        "starts",
        "max seqs",
    )
    body: list[tuple[str, ...]] = []
    for text, made, why in rows:
        if made is None:
            body.append((text, "", "", "", "", "", why, ""))
            continue
        body.append((
            text, str(made["gpus"]), f"{made['weightsBytesPerGpu'] / GIB:.1f}", _kv(made["availableKvBytesPerGpu"]),
            f"{made['kvCacheTokens']:,}", f"{made['maxConcurrency']:.2f}x" if made["maxConcurrency"] is not None else "-",
            "yes" if made["fits"] else "no", str(made["limits"].get("engine", {}).get("maxNumSeqs", "-")),
        ))  # fmt: skip
    if not prices:
        return [head, *body]
    costs = [_PRICED, *(_cost_cells(made or {}) for _, made, _ in rows)]
    return [(*row[:2], *cost, *row[2:]) for row, cost in zip((head, *body), costs, strict=True)]


def _cost_cells(made: dict[str, Any]) -> tuple[str, ...]:
    per_hour = made.get("costPerHour")
    each = (made.get("costPerMillionOutputTokens"), made.get("costPerMillionTokens"))
    return (
        "-" if per_hour is None else f"{per_hour:,.2f}",
        *("-" if value is None else f"{value:,.3g}" for value in each),
    )


def _cost_note(rows: list[Row]) -> str:
    """Return what the costs of a million tokens are of; empty if there are none."""
    mix = next((made["costMix"] for _, made, _ in rows if made and "costMix" in made), None)
    if mix is None:
        return ""
    return (
        "Costs of a million tokens are at full load, by the step model: requests of "
        f"{figure(mix['inputTokens'], 4)} tokens of input and {figure(mix['outputTokens'], 4)} of "
        "output, the KV pool full all the time. A real load pays more: plan --for says how much."
    )


def _kv(size_bytes: int) -> str:
    """The memory left for the cache, or what is short."""
    return f"{size_bytes / GIB:.1f}" if size_bytes >= 0 else f"{-size_bytes / GIB:.1f} short"
