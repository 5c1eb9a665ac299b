"""A limits file: read strictly (every complaint with line and column), written with its reasons,
edited in place with its comments kept.
"""

from __future__ import annotations

import copy
import dataclasses
import errno
import io
import json
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import yaml

from barostat.core.errors import InputError
from barostat.core.limits import API_VERSION, KIND, LimitsSpec, ServingLimits, contradictions
from barostat.core.limits_fields import fields_of
from barostat.core.naming import camel
from barostat.io.input_files.small_file import read_small
from barostat.io.input_files.yaml_places import composed, located, place, plain

if TYPE_CHECKING:  # loaded where a file is read: whoever only writes limits does not wait for it
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

_LARGEST_FILE_BYTES = 1_000_000
_TOO_LARGE = "is larger than 1 MB: not a limits file"


def load(path: Path) -> ServingLimits:
    """The limits in this file.

    Errors: InputError that lists every unknown key, wrong type and impossible value with line and
    column.
    """
    try:
        raw = read_small(path, _LARGEST_FILE_BYTES)
    except OSError as error:
        why = _TOO_LARGE if error.errno == errno.EFBIG else error.strerror or str(error)
        raise InputError(why, str(path)) from None
    return read(io.BytesIO(raw), str(path))


def read(stream: BinaryIO, source: str) -> ServingLimits:
    """The limits that come in.

    Errors: as `load`; OSError where it cannot be read.
    """
    raw = stream.read(_LARGEST_FILE_BYTES + 1)
    if len(raw) > _LARGEST_FILE_BYTES:
        raise InputError(_TOO_LARGE, source)
    try:
        return parse(io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8").read(), source)
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", source) from None


def parse(text: str, source: str = "limits") -> ServingLimits:
    """The limits in this text.

    Errors: as `load`.
    """
    from pydantic import ValidationError

    from barostat.io.input_files.limits_schema import document

    root = composed(text, source)
    if not isinstance(root, yaml.MappingNode):
        raise InputError(
            f"a {KIND} document was expected (apiVersion: {API_VERSION}, kind: {KIND}, spec: ...)",
            source,
        )
    problems: list[tuple[int, str]] = []

    def say(mark: yaml.Mark, path: str, sentence: str) -> None:
        problems.append(
            (mark.index, f"{place(source, mark)}: {path + ': ' if path else ''}{sentence}")
        )

    limits = None
    try:
        given = plain(root, say)
        try:
            limits = _limits(document().model_validate(given))
        except ValidationError as error:
            wrong = error.errors(include_url=False)
            for found in wrong:
                say(*_complaint(root, found))
            with suppress(ValidationError):  # what is right may contradict itself all the same
                limits = _limits(
                    document().model_validate(_without(given, [found["loc"] for found in wrong]))
                )
    except RecursionError:
        raise InputError("no YAML: nested too deeply", source) from None
    for path, complaint in contradictions(limits) if limits is not None else ():
        say(located(root, path.split("."))[0], path, complaint)
    if problems or limits is None:
        raise InputError("\n".join(sentence for _, sentence in sorted(problems)))
    return limits


def _without(given: Any, routes: Sequence[Sequence[str | int]]) -> Any:
    """Return a copy of the document without the values at these paths; a list item removes its
    whole list.
    """
    kept = copy.deepcopy(given)
    for route in routes:
        place: Any = kept
        keys = list(takewhile(lambda key: isinstance(key, str), route))
        for key in keys[:-1]:
            place = place.get(key) if isinstance(place, dict) else None
        if isinstance(place, dict) and keys:
            place.pop(keys[-1], None)
    return kept


def _limits(read: Any) -> ServingLimits:
    name = read.metadata.get("name")
    return ServingLimits(
        _dataclass(LimitsSpec, read.spec),
        read.because,
        str(name) if isinstance(name, str) else None,
    )


def _dataclass(cls: Any, model: BaseModel) -> Any:
    """The dataclass with what the file says; everything else has its default."""
    values: dict[str, Any] = {}
    for name, hint in fields_of(cls).values():
        value = getattr(model, name)
        if dataclasses.is_dataclass(hint) and value is not None:
            value = _dataclass(hint, value)
        elif isinstance(value, list):
            value = tuple(_dataclass(typing.get_args(hint)[0], item) for item in value)
        if value is not None:
            values[name] = value
    return cls(**values)


_BOUND_WORDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_SHAPES = {
    "model_type": "a mapping was expected",
    "dict_type": "a mapping was expected",
    "list_type": "a list was expected",
    "string_type": "a single value was expected",
    "int_type": "a whole number was expected",
    "float_type": "a number was expected",
}


def _complaint(root: yaml.Node, found: ErrorDetails) -> tuple[yaml.Mark, str, str]:
    """Convert a pydantic error to (place, field, sentence)."""
    kind, route = found["type"], [part for part in found["loc"] if isinstance(part, str | int)]
    key_mark, node = located(root, route)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in route).lstrip(
        "."
    )
    if kind == "missing":
        return node.start_mark, path.rpartition(".")[0], f"{route[-1]} is missing"
    if kind == "extra_forbidden":
        close = _closest(str(route[-1]), _keys_at(route[:-1]))
        return key_mark, path, f"is no known key{f'; did you mean {close}?' if close else ''}"
    written = f"is {node.value!r}; " if isinstance(node, yaml.ScalarNode) else ""
    if kind == "literal_error":
        expected = str(found["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        return (
            node.start_mark,
            path,
            f"{written}{'one of ' if ', ' in expected else ''}{expected} was expected",
        )
    if kind in _SHAPES:
        return node.start_mark, path, written + _SHAPES[kind]
    bound = next(
        (
            (words, found["ctx"][name])
            for name, words in _BOUND_WORDS.items()
            if name in found.get("ctx", {})
        ),
        None,
    )
    if bound is not None and isinstance(node, yaml.ScalarNode):
        return node.start_mark, path, f"is {node.value}; it must be {bound[0]} {bound[1]:g}"
    return (
        node.start_mark,
        path,
        written + (f"it must be {bound[0]} {bound[1]:g}" if bound else found["msg"]),
    )


def _keys_at(route: Sequence[str | int]) -> list[str]:
    """The keys that the document has a place for, where this route ends."""
    from barostat.io.input_files.limits_schema import document

    shape: Any = document()
    for part in route:
        if isinstance(part, str):
            field = next(field for field in shape.model_fields.values() if field.alias == part)
            shape = next(iter(typing.get_args(field.annotation)), field.annotation)
    return [str(field.alias) for field in shape.model_fields.values()]


def _closest(key: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, known, 1, 0.6)), "")


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
        made = {
            camel(field.name): _plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
        return {key: item for key, item in made.items() if item not in (None, {}, [])}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def render(limits: ServingLimits) -> str:
    """Return the limits as YAML."""
    return str(yaml.safe_dump(as_document(limits), sort_keys=False, allow_unicode=True, width=140))


def with_value(text: str, path: str, value: float | str | bool) -> str:
    """The same file with one value changed or added; comments, order and everything else stay as
    they are.

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
