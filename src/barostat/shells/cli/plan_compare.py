"""`barostat plan --compare`: several cards or sets of flags in one table."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import Any

from barostat.core.errors import InputError
from barostat.core.limits import API_VERSION
from barostat.core.units import GIB
from barostat.shells.cli import plan_inputs
from barostat.shells.cli.plan import add_arguments
from barostat.shells.cli.plan_views import document


class _Words(argparse.ArgumentParser):
    """A parser that complains as we do."""

    def error(self, message: str) -> Any:
        """Raise instead of ending the process."""
        raise InputError(message, "--compare")


def run(arguments: argparse.Namespace) -> int:
    """Plan every alternative; 0 if at least one fits, 1 if none does."""
    if arguments.output not in ("table", "json", "md"):
        raise InputError(f"a comparison comes as table, json or md, not as {arguments.output}", "--compare")
    rows: list[tuple[str, dict[str, Any] | None, str]] = []
    alternatives = [part.strip() for text in arguments.compare for part in _parts(text) if part.strip()]
    if arguments.gpu:
        alternatives.insert(0, arguments.gpu)
    for text in dict.fromkeys(alternatives):
        try:
            answer = plan_inputs.answer(plan_inputs.asked(_alternative(arguments, text)))
            rows.append((text, document(answer), ""))
        except InputError as error:
            rows.append((text, None, str(error)))
    if arguments.output == "json":
        plans = [{"alternative": text, **(made or {"error": why})} for text, made, why in rows]
        print(json.dumps({"apiVersion": API_VERSION, "kind": "CapacityComparison", "plans": plans}, indent=2))
    else:
        print(_table(rows, markdown=arguments.output == "md"))
    if all(made is None for _, made, _ in rows):
        return 2
    return 0 if arguments.exit_zero or any(made is not None and made["fits"] for _, made, _ in rows) else 1


def _parts(text: str) -> list[str]:
    """`H100,L40S` as two; a text with JSON or quotes in it is one."""
    return [text] if any(mark in text for mark in "{'\"") else text.split(",")


def _alternative(arguments: argparse.Namespace, text: str) -> argparse.Namespace:
    """The same question with this card and these flags in place of the given ones."""
    parser = _Words(add_help=False, allow_abbrev=False)
    add_arguments(parser)
    words = shlex.split(text)
    if words and not words[0].startswith("-"):
        card = []
        while words and not words[0].startswith("-"):
            card.append(words.pop(0))
        words = ["--gpu", " ".join(card), *words]
    base = {name: value for name, value in vars(arguments).items() if name not in ("compare", "run", "verb")}
    changed = parser.parse_args(words)
    untouched = parser.parse_args([])
    base |= {name: value for name, value in vars(changed).items() if value != getattr(untouched, name)}
    return argparse.Namespace(**{**base, "compare": None})


def _table(rows: list[tuple[str, dict[str, Any] | None, str]], *, markdown: bool) -> str:
    head = ("alternative", "GPUs", "weights GiB", "KV GiB", "tokens", "concurrency", "starts", "max seqs")
    body: list[tuple[str, ...]] = []
    for text, made, why in rows:
        if made is None:
            body.append((text, "", "", "", "", "", why, ""))
            continue
        body.append((
            text, str(made["gpus"]), f"{made['weightsBytesPerGpu'] / GIB:.1f}", f"{made['availableKvBytesPerGpu'] / GIB:.1f}",
            f"{made['kvCacheTokens']:,}", f"{made['maxConcurrency']:.2f}x" if made["maxConcurrency"] is not None else "-",
            "yes" if made["fits"] else "no", str(made["limits"].get("engine", {}).get("maxNumSeqs", "-")),
        ))  # fmt: skip
    if markdown:
        return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *body))
    widths = [max(len(row[i]) for row in (head, *body)) for i in range(len(head) - 2)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), *row[len(widths) :]]) for row in (head, *body)
    )
