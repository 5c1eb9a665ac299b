"""The tools for agents: a table of read-only verbs, their arguments, and the command line of a
call.

No verb that writes, listens or sends load stands in the table. Values cannot become other flags:
each goes in as `--flag=value`, and a positional value that begins with a dash is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

MOST_CHARACTERS = 20_000
"""Longest value of an argument, a manifest aside."""
MOST_MANIFEST = 1_000_000

Goes = Literal["flag", "positional", "command", "stdin", "bundle"]
"""How an argument reaches the command line. command: words after `--`. bundle: a path below the
folder that the server was started with.
"""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool. `flag`: empty for the flag of the same name."""

    name: str
    description: str
    goes: Goes = "flag"
    flag: str = ""
    kind: Literal["string", "boolean", "number", "strings"] = "string"
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool. `verb`: words of the command line. `reads_cluster`: takes the server's kubeconfig
    and context.
    """

    name: str
    description: str
    verb: tuple[str, ...]
    arguments: tuple[Argument, ...]
    reads_cluster: bool = False


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """Data that tool calls may access. `bundles`: the folder of recorded bundles, None for none."""

    kubeconfig: str | None = None
    context: str | None = None
    bundles: Path | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A command line without the program's name, and its standard input."""

    words: tuple[str, ...]
    stdin: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a call is not made, in a sentence."""

    because: str


_NAMESPACE = Argument("namespace", "namespace of the target (default: that of the context)")
_TARGET = Argument(
    "target", "http://host:8000, or deploy/NAME, sts/NAME, lws/NAME, pod/NAME in the cluster"
)
_BUNDLE = Argument("bundle", "a recorded bundle in the server's folder of bundles", "bundle")

TOOLS = (
    ToolRow(
        "survey",
        "Every vLLM engine of a cluster, the worst first: verdict, KV headroom, whether it serves "
        "through a rollout, unsafe flags, missing limits, GPUs and cost. Start here.",
        ("survey",),
        (
            _NAMESPACE,
            Argument("price", "price of one GPU for an hour, such as H100=2.5,L40S=0.8"),
            _BUNDLE,
        ),
        reads_cluster=True,
    ),
    ToolRow(
        "diagnose",
        "Name what is wrong with a vLLM: one cause out of a closed list or unknown, the evidence "
        "for it and against the others, and next steps with values. Takes about 30 seconds.",
        ("diagnose",),
        (
            Argument(_TARGET.name, _TARGET.description, "positional"),
            _NAMESPACE,
            Argument("all_namespaces", "every vLLM pod of the cluster", kind="boolean"),
            Argument("seconds", "how long to look (default 30)", flag="for", kind="number"),
            _BUNDLE,
        ),
        reads_cluster=True,
    ),
    ToolRow(
        "plan",
        "How much KV cache fits on a GPU, whether the engine starts, and which limits follow.",
        ("plan",),
        (
            Argument("gpu", "card, and how many: H100, 4xA100, MI300X", is_required=True),
            Argument(
                "command",
                "vLLM's command line: vllm serve MODEL --max-model-len 32768",
                "command",
                is_required=True,
            ),
        ),
    ),
    ToolRow(
        "what_if",
        "Try settings on a digital twin of a running engine, with the traffic that it has now.",
        ("what-if",),
        (
            Argument(_TARGET.name, _TARGET.description, flag="from", is_required=True),
            _NAMESPACE,
            Argument(
                "set",
                "settings to try, one string for each alternative: max-num-seqs=48,watermark=0.05",
                kind="strings",
                is_required=True,
            ),
            Argument("slo_ttft", "SLO: first token within so many seconds", kind="number"),
            Argument("slo_itl", "SLO: at most so many seconds between tokens", kind="number"),
        ),
        reads_cluster=True,
    ),
    ToolRow(
        "check",
        "Check a manifest (Kubernetes, KServe, Ray, compose, chart values) for what would not "
        "start or breaks under load.",
        ("check", "-"),
        (
            Argument("manifest", "the text of the manifest", "stdin", is_required=True),
            Argument("gpu", "the card, where the manifest does not say it"),
            Argument("engine_version", "vLLM's version, where the image does not say it"),
        ),
    ),
    ToolRow(
        "explain",
        "The page of a cause, symptom, lever, rule or alert: meaning, evidence, what to do.",
        ("explain",),
        (Argument("name", "such as kv-preemption-thrash", "positional", is_required=True),),
    ),
    ToolRow(
        "incident_show",
        "One remedy that was carried out: plan, timeline, measured before and after.",
        ("incident", "show"),
        (
            Argument("id", "id of the incident", "positional", is_required=True),
            _NAMESPACE,
        ),
        reads_cluster=True,
    ),
)


def input_schema(tool: ToolRow, access: ToolAccess) -> dict[str, Any]:
    """The JSON Schema of the tool's arguments."""
    forms: dict[str, dict[str, Any]] = {
        "string": {"type": "string", "maxLength": MOST_CHARACTERS},
        "boolean": {"type": "boolean"},
        "number": {"type": "number", "exclusiveMinimum": 0},
        "strings": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20},
    }
    shown = [one for one in tool.arguments if one.goes != "bundle" or access.bundles is not None]
    properties = {one.name: {"description": one.description, **forms[one.kind]} for one in shown}
    for one in shown:
        if one.goes == "stdin":
            properties[one.name]["maxLength"] = MOST_MANIFEST
    required = [one.name for one in shown if one.is_required]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def call(tool: ToolRow, given: Mapping[str, Any], access: ToolAccess) -> Call | Refused:
    """The command line of a call whose arguments keep the schema."""
    flags, positional, command, stdin = [], [], [], ""
    for one in tool.arguments:
        value = given.get(one.name)
        if value is None or value is False:
            continue
        if one.goes == "stdin":
            stdin = value
        elif one.goes == "positional":
            if value.startswith("-"):
                return Refused(f"{one.name} begins with a dash")
            positional.append(value)
        elif one.goes == "command":
            try:
                command = shlex.split(value)
            except ValueError as error:
                return Refused(f"{one.name} cannot be read as a command line: {error}")
        elif one.goes == "bundle":
            path = below(access.bundles, value)
            if path is None:
                return Refused(f"there is no bundle {value!r} in the server's folder of bundles")
            flags.append(f"--bundle={path}")
        else:
            flags += _flag(one, value)
    cluster = _cluster(access) if tool.reads_cluster and "bundle" not in given else []
    everywhere = ["-A"] if tool.name == "survey" and not {"namespace", "bundle"} & {*given} else []
    after = ["--", *command] if command else []
    words = (*tool.verb, *flags, *everywhere, *cluster, "--output=json", *positional, *after)
    return Call(words, stdin)


def _flag(argument: Argument, value: Any) -> list[str]:
    name = f"--{(argument.flag or argument.name).replace('_', '-')}"
    if argument.kind == "boolean":
        return [name]
    if argument.kind == "strings":
        return [f"{name}={one}" for one in value]
    return [f"{name}={value:g}" if argument.kind == "number" else f"{name}={value}"]


def _cluster(access: ToolAccess) -> Sequence[str]:
    pairs = (("--kubeconfig", access.kubeconfig), ("--context", access.context))
    return [f"{name}={value}" for name, value in pairs if value is not None]


def below(folder: Path | None, name: str) -> Path | None:
    """The path of that name if it is there and does not leave the folder, symlinks included."""
    if folder is None or "\0" in name:
        return None
    root = folder.resolve()
    path = (root / name).resolve()
    return path if path.exists() and path.is_relative_to(root) and path != root else None
