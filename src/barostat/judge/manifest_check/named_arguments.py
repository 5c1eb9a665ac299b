"""Arguments of vLLM that stand as keys of a mapping: `maxModelLen: 8192`, `max-model-len: 8192`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from barostat.catalog.settings.table import SETTINGS, canonical_name, is_switch
from barostat.engines.vllm.command_line.config import read_value
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Argument, Given

_OTHER_SPELLINGS = {"enableLoRA": "enable_lora", "v1": "", "v0": ""}


def named_arguments(document: Document, mapping: Node | None) -> dict[str, Argument]:
    """Return the entries of a mapping that are arguments of vLLM."""
    arguments: dict[str, Argument] = {}
    for key, node in mapping.entries.items() if mapping is not None else ():
        snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()
        name = _OTHER_SPELLINGS.get(key, canonical_name(snake) if snake else "")
        if node.kind == "scalar" and not node.is_null and name in SETTINGS:
            text = "true" if not node.text and is_switch(name) else node.text
            arguments[name] = value_argument(
                name, text, f"{key}: {node.text}", document.place(node)
            )
    return arguments


def value_argument(name: str, text: str, spelled: str, place: Place) -> Argument:
    """Return an argument that a value stands for, which a controller passes on."""
    return Argument(name, text, read_value(name, text), spelled, place, (place,), "values")


def listed_env(document: Document, item: Node) -> dict[str, Given]:
    """Return the literal variables of `env: [{name, value}]`."""
    return {
        entry.word("name"): Given(
            entry.word("value"), document.place(entry.entries["value"]), document.place(entry)
        )
        for entry in item.maps_at("env")
        if entry.get("value") is not None
    }


def mapped_env(document: Document, mapping: Node | None) -> dict[str, Given]:
    """Return the literal variables of `env: {NAME: value}`."""
    entries: Mapping[str, Node] = mapping.entries if mapping is not None else {}
    return {
        key: Given(value.text, document.place(value))
        for key, value in entries.items()
        if value.kind == "scalar" and not value.is_null
    }


def scalars(nodes: list[Node]) -> list[Node]:
    """Return the nodes that are scalars."""
    return [node for node in nodes if node.kind == "scalar"]


def hub_name(uri: Node | None) -> str:
    """Return the model of `hf://NAME`, empty for any other address."""
    text = uri.text if uri is not None else ""
    return text.removeprefix("hf://").partition("?")[0] if text.startswith("hf://") else ""
