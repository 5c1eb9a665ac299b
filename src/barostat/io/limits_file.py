"""A limits file: read strictly (every complaint with line and column), written with its reasons, edited in place with its comments kept."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from barostat.core.errors import InputError
from barostat.core.limits import API_VERSION, KIND, LimitsSpec, ServingLimits, contradictions
from barostat.io.limits_schema import bounds, camel, fields_of

_LARGEST_FILE_BYTES = 1_000_000


class _Problems:
    """Collects complaints, each with its place."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[str] = []
        self.places: dict[str, yaml.Mark] = {}

    def say(self, mark: yaml.Mark, path: str, text: str) -> None:
        """Note one complaint."""
        self.found.append(f"{self.source}:{mark.line + 1}:{mark.column + 1}: {path + ': ' if path else ''}{text}")


def load(path: Path) -> ServingLimits:
    """The limits in this file.

    Errors: InputError that lists every unknown key, wrong type and impossible value with line and column.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE_BYTES:
            raise InputError("is larger than 1 MB: not a limits file", str(path))
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", str(path)) from None
    return parse(text, str(path))


def parse(text: str, source: str = "limits") -> ServingLimits:
    """The limits in this text.

    Errors: as `load`.
    """
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark is not None else source
        raise InputError(f"is no YAML: {error.problem or error}", place) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"is no YAML: {str(error)[:200]}", source) from None
    if not isinstance(root, yaml.MappingNode):
        raise InputError(f"a {KIND} document was expected (apiVersion: {API_VERSION}, kind: {KIND}, spec: ...)", source)
    problems = _Problems(source)
    limits = _document(root, problems)
    for path, complaint in contradictions(limits):
        problems.say(problems.places.get(path, root.start_mark), path, complaint)
    if problems.found:
        raise InputError("\n".join(problems.found))
    return limits


def _document(root: yaml.MappingNode, problems: _Problems) -> ServingLimits:
    entries = _entries(root, "", problems)
    for name, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        node = entries.get(name)
        if node is None:
            problems.say(root.start_mark, name, f"is missing; {expected} was expected")
        elif node.value != expected:
            problems.say(node.start_mark, name, f"is {node.value!r}; {expected} was expected")
    for key in entries.keys() - {"apiVersion", "kind", "metadata", "spec", "because", "status"}:
        problems.say(entries[key].start_mark, key, "is no key of this document")
    spec_node = entries.get("spec")
    spec = LimitsSpec()
    if spec_node is None:
        problems.say(root.start_mark, "spec", "is missing")
    else:
        made = _object(LimitsSpec, spec_node, "spec", problems)
        spec = made if isinstance(made, LimitsSpec) else spec
    because = _value(Mapping[str, str], entries["because"], "because", "because", problems) if "because" in entries else {}
    title: str | None = None
    if isinstance(meta := entries.get("metadata"), yaml.MappingNode):
        found = _entries(meta, "metadata", problems).get("name")
        title = str(found.value) if isinstance(found, yaml.ScalarNode) else None
    return ServingLimits(spec, because or {}, title)


def _entries(node: yaml.MappingNode, path: str, problems: _Problems) -> dict[str, yaml.Node]:
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        if not isinstance(name, str) or not name:
            problems.say(key.start_mark, path, "a key must be a word")
        elif name in found:
            problems.say(key.start_mark, f"{path}.{name}".strip("."), "stands here twice")
        else:
            found[name] = value
            problems.places[f"{path}.{name}".strip(".")] = key.start_mark
    return found


def _object(cls: type, node: yaml.Node, path: str, problems: _Problems) -> Any:
    if _is_null(node):
        return None
    if not isinstance(node, yaml.MappingNode):
        problems.say(node.start_mark, path, "a mapping was expected")
        return None
    known = fields_of(cls)
    values: dict[str, Any] = {}
    for key, value in _entries(node, path, problems).items():
        if key not in known:
            close = _closest(key, known)
            problems.say(problems.places[f"{path}.{key}"], f"{path}.{key}", f"is no known key{f'; did you mean {close}?' if close else ''}")
            continue
        name, hint = known[key]
        made = _value(hint, value, f"{path}.{key}", name, problems)
        if made is not None:
            values[name] = made
    for field in dataclasses.fields(cls):
        if field.default is field.default_factory is dataclasses.MISSING and field.name not in values:
            problems.say(node.start_mark, path, f"{camel(field.name)} is missing")
            return None
    return cls(**values)


def _closest(key: str, known: Mapping[str, object]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, known, 1, 0.6)), "")


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _value(hint: Any, node: yaml.Node, path: str, name: str, problems: _Problems) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _object(hint, node, path, problems)
    if _is_null(node):
        return None
    origin = typing.get_origin(hint)
    if origin is tuple:
        if not isinstance(node, yaml.SequenceNode):
            problems.say(node.start_mark, path, "a list was expected")
            return None
        items = [_value(typing.get_args(hint)[0], item, f"{path}[{i}]", name, problems) for i, item in enumerate(node.value)]
        return tuple(item for item in items if item is not None)
    if origin is not None and origin is not typing.Literal:
        if not isinstance(node, yaml.MappingNode):
            problems.say(node.start_mark, path, "a mapping was expected")
            return None
        kind = typing.get_args(hint)[1]
        made = {key: _value(kind, value, f"{path}.{key}", name, problems) for key, value in _entries(node, path, problems).items()}
        return {key: value for key, value in made.items() if value is not None}
    if not isinstance(node, yaml.ScalarNode):
        problems.say(node.start_mark, path, "a single value was expected")
        return None
    return _scalar(hint, node, path, name, problems)


def _scalar(hint: Any, node: yaml.ScalarNode, path: str, name: str, problems: _Problems) -> Any:
    if typing.get_origin(hint) is typing.Literal:
        allowed = typing.get_args(hint)
        if node.value not in allowed:
            problems.say(node.start_mark, path, f"is {node.value!r}; one of {', '.join(allowed)} was expected")
            return None
        return node.value
    if hint is str:
        return node.value
    kind = node.tag.rsplit(":", 1)[-1]
    if kind not in ("int", "float") or (hint is int and kind != "int"):
        problems.say(node.start_mark, path, f"is {node.value!r}; a {'whole ' if hint is int else ''}number was expected")
        return None
    try:
        number: float = yaml.safe_load(node.value)
    except (yaml.YAMLError, ValueError):
        problems.say(node.start_mark, path, f"is {node.value!r}; a number was expected")
        return None
    limits = bounds(name, hint)
    assert limits is not None
    low, high, exclusive = limits
    if not (number > low if exclusive else number >= low) or (high is not None and number > high) or number != number:
        wanted = f"{'above' if exclusive else 'at least'} {low:g}" + (f" and at most {high:g}" if high is not None else "")
        problems.say(node.start_mark, path, f"is {node.value}; it must be {wanted}")
        return None
    return int(number) if hint is int else float(number)


def as_document(limits: ServingLimits) -> dict[str, Any]:
    """The limits as the plain document: camelCase, absent fields left out."""
    document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    if limits.name:
        document["metadata"] = {"name": limits.name}
    document["spec"] = _plain(limits.spec)
    if limits.because:
        document["because"] = dict(limits.because)
    return document


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = {camel(field.name): _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {key: item for key, item in made.items() if item not in (None, {}, [])}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def render(limits: ServingLimits) -> str:
    """The limits as YAML."""
    return str(yaml.safe_dump(as_document(limits), sort_keys=False, allow_unicode=True, width=140))


def with_value(text: str, path: str, value: float | str | bool) -> str:
    """The same file with one value changed or added; comments, order and everything else stay as they are.

    `path`: `spec.engine.maxNumSeqs`. Errors: InputError where the parent of the path is not there.
    """
    root = yaml.compose(text, yaml.SafeLoader)
    written = json.dumps(value) if isinstance(value, str | bool) else str(value)
    node: yaml.Node | None = root
    parts = path.split(".")
    for depth, part in enumerate(parts):
        if not isinstance(node, yaml.MappingNode):
            raise InputError(f"{'.'.join(parts[:depth])} is no mapping", path)
        found = next((item for key, item in node.value if key.value == part), None)
        if found is None:
            if depth < len(parts) - 1:
                raise InputError(f"{'.'.join(parts[: depth + 1])} is not in the file", path)
            return _with_line(text, node, f"{part}: {written}")
        node = found
    if not isinstance(node, yaml.ScalarNode):
        raise InputError("is no single value", path)
    return str(text[: node.start_mark.index] + written + text[node.end_mark.index :])


def _with_line(text: str, parent: yaml.MappingNode, line: str) -> str:
    """The text with one more entry in this mapping, above its first."""
    if parent.flow_style:
        start = parent.start_mark.index + 1
        return text[:start] + line + (", " if parent.value else "") + text[start:]
    first = parent.value[0][0].start_mark
    return f"{text[: first.index]}{line}\n{' ' * first.column}{text[first.index :]}"
