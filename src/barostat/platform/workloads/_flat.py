"""Kinds without a pod template: the arguments and variables of the engine stand in fields of the
object's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barostat.platform.objects import Object, count, mapping, objects, sequence, text, value
from barostat.platform.workloads._kind import Part, Place, WorkloadKind, put

_COMMAND = ("vllm", "serve")
_CONTAINER = "engine"


class FlatKind(WorkloadKind):
    """Its fields read as the one container of a template, so that a change is made as for any other
    kind.

    `words_path`: the list of arguments. `flags`: the fields that hold an argument by themselves, by
    its name. `variables_path`: the variables, as a list of names and values, or as a mapping where
    `variables_by_name`.
    """

    places: tuple[Place, ...] = ()
    whole = False
    words_path: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]] = {}
    variables_path: tuple[str, ...] = ()
    variables_by_name: bool = False

    def words(self, item: Object) -> list[str]:
        """The arguments, those of fields first."""
        held: list[str] = []
        for flag, path in self.flags.items():
            found = value(item, *path)
            if found is True:
                held.append(flag)
            elif found not in (None, False, "", 0):
                held += [flag, str(found)]
        return [*held, *map(str, sequence(item, *self.words_path))]

    def put_words(self, new: dict[str, Any], words: Sequence[str]) -> None:
        """Write the arguments: each into its own field, where it has one that is set."""
        rest: list[str] = []
        left = list(words)
        kept = {flag for flag, path in self.flags.items() if value(new, *path) not in (None, "", 0)}
        while left:
            word = left.pop(0)
            flag, equals, written = word.partition("=")
            if flag not in kept:
                rest.append(word)
                continue
            path = self.flags[flag]
            former = value(new, *path)
            if isinstance(former, bool):
                put(new, path, True)
                continue
            found = written if equals else left.pop(0) if left else ""
            put(new, path, int(found) if isinstance(former, int) and found.isdecimal() else found)
        if rest != [str(word) for word in sequence(new, *self.words_path)]:
            put(new, self.words_path, rest)

    def parts(self, item: Object) -> tuple[Part, ...]:
        """One part, made of the fields."""
        container: dict[str, Any] = {
            "name": _CONTAINER,
            "args": [*_COMMAND, *self.words(item)],
            "env": self._variables(item),
        }
        if resources := self.resources(item):
            container["resources"] = resources
        template = {"spec": {"containers": [container]}}
        asked = count(item, *self.replicas_path)
        place = Place((), units=self.replicas_path)
        return (Part("", template, (), place, 1 if asked is None else asked),)

    def resources(self, item: Object) -> Object:
        """Return the resources of one of its pods, in the form of a container's."""
        return mapping(item, "spec", "resources")

    def put_template(self, new: dict[str, Any], part: Part, template: Object) -> None:
        """Write the container's arguments and variables into the fields that they come from."""
        (container,) = objects(template, "spec", "containers")
        self.put_words(new, [str(word) for word in sequence(container, "args")][len(_COMMAND) :])
        variables = objects(container, "env")
        if self.variables_path and variables != self._variables(new):
            by_name = {text(entry, "name"): text(entry, "value") for entry in variables}
            written: Any = by_name if self.variables_by_name else [dict(one) for one in variables]
            put(new, self.variables_path, written)

    def _variables(self, item: Object) -> list[Object]:
        if not self.variables_path:
            return []
        if not self.variables_by_name:
            return objects(item, *self.variables_path)
        found = mapping(item, *self.variables_path)
        return [{"name": name, "value": str(entry)} for name, entry in found.items()]
