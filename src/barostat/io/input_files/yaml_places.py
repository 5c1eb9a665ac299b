"""A YAML document of ours as plain values, and the line and column of each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from barostat.core.errors import InputError
from barostat.io.input_files.yaml_bounds import LOADER, too_much

_NULL = "tag:yaml.org,2002:null"
_KINDS = ("int", "float", "bool")
_AS_WRITTEN = re.compile(r"[-+]?(?:[0-9][0-9_]*:[0-9:._]+|0[0-9_]+|.{32,})")
"""Numbers that YAML 1.1 takes for others than they look like (`1:40` is 100, `0777` is 511), and
those that no limit has; they stay text, and text is refused where a number is wanted.
"""


class Written(str):
    """A scalar as it is written (`0.10`), which YAML takes for `value` (0.1)."""

    __slots__ = ("value",)
    value: Any

    @classmethod
    def of(cls, node: yaml.ScalarNode) -> Written:
        """The scalar of this node. `value` is its text where it is neither a number nor a truth."""
        made = cls(node.value)
        try:
            made.value = (
                yaml.SafeLoader("").construct_object(node)
                if node.tag.rsplit(":", 1)[-1] in _KINDS and not _AS_WRITTEN.fullmatch(node.value)
                else node.value
            )
        except (
            yaml.YAMLError,
            ValueError,
            LookupError,
            OverflowError,
        ):  # what its constructors raise, as for `!!float` of nothing
            made.value = node.value
        return made


def composed(text: str, source: str) -> yaml.Node | None:
    """Return the document's root node, None for an empty one.

    Errors: InputError with line and column for invalid YAML.
    """
    try:
        if why := too_much(text, spelled_out=False):
            raise InputError(f"no YAML that is read here: {why}", source)
        return yaml.compose(text, LOADER)
    except yaml.reader.ReaderError as error:
        raise InputError(f"no YAML: {str(error).splitlines()[0][:200]}", source) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError(
            f"no YAML: {error.problem or error.context or 'cannot be parsed'}", place(source, mark)
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        said = (
            "nested too deeply"
            if isinstance(error, RecursionError)
            else str(error).splitlines()[0][:200]
        )
        raise InputError(f"no YAML: {said}", source) from None


def place(source: str, mark: yaml.Mark | None) -> str:
    """Return a place in a file: `limits.yaml:9:5`."""
    return f"{source}:{mark.line + 1}:{mark.column + 1}" if mark is not None else source


def is_null(node: yaml.Node) -> bool:
    """True for `~`, `null` and nothing."""
    return str(node.tag) == _NULL


def plain(root: yaml.Node, say: Callable[[yaml.Mark, str, str], None]) -> Any:
    """Convert to mappings and lists of `Written`, without nulls. `say(mark, path, sentence)`
    reports keys that are not strings or repeated.

    A node with several aliases is converted once, so nested aliases do not expand.
    """
    made: dict[int, Any] = {}

    def of(node: yaml.Node, path: str) -> Any:
        if id(node) in made:
            return made[id(node)]
        if isinstance(node, yaml.ScalarNode):
            return Written.of(node)
        if isinstance(node, yaml.SequenceNode):
            items: list[Any] = []
            made[id(node)] = items
            items += [
                of(item, f"{path}[{i}]") for i, item in enumerate(node.value) if not is_null(item)
            ]
            return items
        entries: dict[str, Any] = {}
        made[id(node)] = entries
        seen: set[str] = set()
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            below = f"{path}.{name}".strip(".")
            if not isinstance(name, str) or not name:
                say(key.start_mark, path, "a key must be a word")
            elif name in seen:
                say(key.start_mark, below, "stands here twice")
            else:
                seen.add(name)
                if not is_null(value):
                    entries[name] = of(value, below)
        return entries

    return of(root, "")


def located(root: yaml.Node, route: Sequence[str | int]) -> tuple[yaml.Mark, yaml.Node]:
    """Return the place of the key (or item) at this path, and its value; of the last existing part
    if the path continues.
    """
    mark, node = root.start_mark, root
    for part in route:
        if isinstance(part, int) and isinstance(node, yaml.SequenceNode):
            node = [item for item in node.value if not is_null(item)][part]
            mark = node.start_mark
        elif isinstance(node, yaml.MappingNode) and (
            found := next(((k, v) for k, v in node.value if k.value == part), None)
        ):
            mark, node = found[0].start_mark, found[1]
        else:
            break
    return mark, node
