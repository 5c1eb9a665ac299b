"""A value of rendered text -> the place where a person edits it: in values, in the template, in a
patch or its base.

    way of a value      the keys down to it, and its text; of a key the keys alone
    in a tree           at the same key with the same text; of several the one whose keys before it are alike for longest
    in a template       at the line that says the same; else at the line of its key, by the keys above it as they are indented

Nothing is guessed: where two are as much alike, the answer is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from barostat.lint.document import Node, Place

Keys = tuple[str, ...]
T = TypeVar("T")
_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<dash>-[ \t]+)?(?:(?P<key>[\w./-]+|\"[^\"]+\"|'[^']+')[ \t]*:(?:[ \t]|$))?(?P<rest>.*)$"
)
_DIRECTIVE = re.compile(r"^[ \t]*\{\{[^}]*\}\}[ \t]*$")
_SHORTEST = 3
"""Characters: shorter texts match by chance."""


@dataclass(frozen=True, slots=True)
class Way:
    """A path in a document. `text`: of the scalar, None for a key. `listed`: it is a list item."""

    keys: Keys
    text: str | None
    listed: bool = False


def way_to(root: Node, place: Place) -> Way | None:
    """The way to the scalar or the key at that place."""
    stack: list[tuple[Keys, bool, Node]] = [((), False, root)]
    while stack:
        keys, listed, node = stack.pop()
        if node.kind == "scalar":
            if node.start <= place.start < max(node.end, node.start + 1):
                return Way(keys, node.text, listed)
            continue
        named = next(
            (name for name, key in node.keys.items() if key.start <= place.start < key.end), None
        )
        if named is not None:
            return Way((*keys, named), None)
        stack += [(keys, True, item) for item in node.items] + [
            ((*keys, key), False, item) for key, item in node.entries.items()
        ]
    return None


def in_tree(source: Node, way: Way) -> Node | None:
    """Return the same scalar or key in another tree; None if there is none or the match is
    ambiguous.
    """
    found = list(_same(source, way, by_key=True))
    if not found and way.listed and len(way.text or "") >= _SHORTEST:
        found = list(_same(source, way, by_key=False))
    return _alone([(_alike(keys, way.keys), node) for keys, node in found])


def _same(source: Node, way: Way, *, by_key: bool) -> Iterator[tuple[Keys, Node]]:
    """Every scalar of that text (every key of that name), with the keys to it; without `by_key` any
    item of a list.
    """
    stack: list[tuple[Keys, bool, Node]] = [((), False, source)]
    while stack:
        keys, listed, node = stack.pop()
        if node.kind == "scalar":
            if (
                way.text is not None
                and node.text == way.text
                and (keys[-1:] == way.keys[-1:] if by_key else listed)
            ):
                yield keys, node
            continue
        if way.text is None and way.keys[-1] in node.keys:
            yield (*keys, way.keys[-1]), node.keys[way.keys[-1]]
        stack += [(keys, True, item) for item in node.items] + [
            ((*keys, key), False, item) for key, item in node.entries.items()
        ]


def tag_of(values: Node, image: str, workload: str) -> Node | None:
    """The tag in values that say repository and tag apart; of several those of the one that the
    workload is named after.
    """
    found: list[tuple[int, Node]] = []
    for node in values.walk():
        tag = node.get("tag")
        name = node.word("repository") or node.word("name") or node.word("image")
        if (
            tag is not None
            and name
            and image in (f"{name}:{tag.text}", f"{node.word('registry')}/{name}:{tag.text}")
        ):
            found.append((int(bool(node.word("name")) and node.word("name") in workload), tag))
    return _alone(found)


def in_template(text: str, way: Way) -> tuple[int, int, bool] | None:
    """Line and column in a template, and whether what stands there is the value or its own key;
    None if nothing of it does.

    Of an item such as `--port={{ .Values.port }}` the line that gives the argument says it.
    """
    lines = list(_rows(text))
    for sought in _sought(way):
        said = [
            (_alike(keys, way.keys), (number, row.index(sought) + 1))
            for number, keys, row in lines
            if sought in row and (way.listed or keys[-1:] == way.keys[-1:])
        ]
        if (at := _alone(said)) is not None:
            return (*at, True)
    for length in range(len(way.keys), 0, -1):
        keyed = [
            (_alike(keys, way.keys[:length]), (number, row.index(keys[-1]) + 1))
            for number, keys, row in lines
            if keys
            and keys[-1] == way.keys[length - 1]
            and _LINE.match(row) is not None
            and keys[-1] in row.partition(":")[0]
        ]
        if (at := _alone(keyed)) is not None:
            return (*at, length == len(way.keys) and not way.listed)
    return None


def _sought(way: Way) -> Iterator[str]:
    """What a line says that says the value."""
    if way.text is None or len(way.text) < _SHORTEST or "\n" in way.text:
        return
    yield way.text
    argument, equals, _ = way.text.partition("=")
    if way.listed and equals and argument.startswith("--"):
        yield argument + equals + "{{"


def _rows(text: str) -> Iterator[tuple[int, Keys, str]]:
    """Each line of a template that says something, with the keys that it stands under and its own,
    by indentation.
    """
    above: list[tuple[int, str]] = []
    for number, row in enumerate(text.splitlines(), 1):
        match = _LINE.match(row)
        if (
            match is None
            or not row.strip()
            or _DIRECTIVE.match(row)
            or row.lstrip().startswith("#")
        ):
            continue
        indent, dash = len(match["indent"]), len(match["dash"] or "")
        # an item may stand as far left as the key of its list
        depth = indent + dash if match["key"] else indent + 1 if dash else indent
        above = [(at, key) for at, key in above if at < depth]
        if match["key"]:
            above.append((depth, match["key"].strip("'\"")))
        yield number, tuple(key for _, key in above), row


def _alike(one: Keys, other: Keys) -> int:
    """How many keys are the same from the end."""
    shorter = min(len(one), len(other))
    return next((back for back in range(shorter) if one[-1 - back] != other[-1 - back]), shorter)


def _alone(found: Sequence[tuple[int, T]]) -> T | None:
    """Return the best match; None if there is none or a tie."""
    best = max((alike for alike, _ in found), default=0)
    of_them = [one for alike, one in found if alike == best]
    return of_them[0] if len(of_them) == 1 else None
