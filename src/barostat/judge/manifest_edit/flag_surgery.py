"""One setting of an engine changed wherever it lives in its manifest, and everything else left as
it is.

    where it lives                                        what is changed
    args, command (a list, or words in one element)       that word
    a text that a shell runs                              that word of the text
    a script out of a ConfigMap                           an argument is added, where the script hands on its arguments
    a variable (VLLM_...)                                 its entry in env; its assignment in the shell text where that is stronger
    the YAML behind --config, from a ConfigMap            its line there; with `template_only` an argument, which is stronger
    nowhere                                               an argument is added

Source: vLLM 0.32.0 (command line over config file), Kubernetes core/v1 Container (command, args,
env), RFC 6902, strategic merge patch.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import SETTINGS, canonical_name
from barostat.core.change import ChangeKind, ConfigChange
from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.engines.vllm.command_line.arguments import parse
from barostat.engines.vllm.command_line.config import read_value
from barostat.engines.vllm.command_line.config_text import NotPlain, value_in, with_setting
from barostat.engines.vllm.command_line.open_words import untold_words
from barostat.engines.vllm.command_line.script import script_line
from barostat.engines.vllm.command_line.write_flag import (
    as_written,
    can_be_written,
    changed_elements,
    with_variable,
)
from barostat.platform.mounted import config_map_of, script_command, script_of
from barostat.platform.objects import Object, mapping, objects, sequence, text
from barostat.platform.pod_environment import with_references
from barostat.platform.pods import command_words, container_named, engine_container
from barostat.platform.template_diff import HIDDEN, SHOWN_CHARS, shown

FROM_REFERENCE = "(from a reference)"


_OF_ARGUMENTS = re.compile(r"\$\{?[@*1-9]|\bargv\b")
"""In a script: references to its arguments."""


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """The change of one object as a strategic merge patch.

    `kind`: Template (the workload that the template is of) or ConfigMap.
    """

    kind: str
    name: str
    strategic: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Surgery:
    """The change, carried out on copies. `where` names the place for a person; `diff` shows it,
    line by line.

    `template` is the pod template afterwards (the same where a ConfigMap is changed), `config_map`
    the ConfigMap, where that is changed.
    """

    change: ConfigChange
    where: str
    template: Object
    patch: ObjectPatch
    diff: tuple[str, ...]
    config_map: Object | None = None


@dataclass(frozen=True, slots=True)
class NotChanged:
    """Nothing was changed, and why."""

    why: str


def set_flag(
    template: Object,
    name: str,
    value: ConfigScalar | None,
    *,
    config_maps: Mapping[str, Object] | None = None,
    template_only: bool = False,
) -> Surgery | NotChanged:
    """Return the template (or the ConfigMap behind its --config) with this setting at `value`; None
    removes it.

    `name`: an argument in any spelling, or a variable (VLLM_CPU_KVCACHE_SPACE). `config_maps`: by
    name, if the template mounts any. `template_only`: do not change objects shared with other pods;
    a setting of the config file is overridden by an argument.
    """
    container = engine_container(with_references(template, config_maps or {}))
    if container is None:
        return NotChanged("the template has no container")
    if name.isupper() or name.startswith("VLLM_"):
        return _variable(template, container.name, name, value)
    item = container_named(template, container.name)
    args = command_words(item)
    script = script_command(template, container.name, config_maps or {})
    line = (script_line(script, container.env) if script is not None else None) or parse(
        args, container.env
    )
    wanted = canonical_name(name)
    given = line.settings.get(wanted)
    if given is None and (path := line.text("config")) is not None:
        found = _in_config_file(
            template, container.name, path, wanted, value, config_maps or {}, template_only
        )
        if found is not None:
            return found
    if given is None and value is None:
        may = next(iter(untold_words(line)), None)
        return NotChanged(
            f"{option_of(wanted)} is not set"
            + (f", unless {may.raw or may.text} holds it" if may is not None else "")
        )
    if given is not None and value is not None and _same(wanted, given.text, value):
        return NotChanged(f"{option_of(wanted)} is {given.text} already")
    try:
        changed = changed_elements(args, wanted, value)
    except InputError as error:
        return NotChanged(str(error))
    own = parse(args).settings.get(
        wanted
    )  # with no variable told, as it is written: that is what is put back
    former = as_written(own) if own is not None else None if given is None else given.text
    change = ConfigChange("argument", option_of(wanted), former, _text(value))
    made = _with_words(template, container.name, changed, change)
    if not _is_heard(made.template, container.name, wanted, value, config_maps or {}):
        held = script_of(template, container.name)
        where = f"{held.key} of ConfigMap {held.config_map}" if held is not None else "its script"
        return NotChanged(
            f"{where} decides on {option_of(wanted)}, whatever the arguments say: the "
            "change belongs there"
        )
    return made


def _is_heard(
    template: Object,
    container: str,
    name: str,
    value: ConfigScalar | None,
    config_maps: Mapping[str, Object],
) -> bool:
    """True unless the engine is started by a script that does not hand on what the template says
    now: as far as it can be read, else where it never speaks of its arguments.
    """
    script = script_command(template, container, config_maps)
    if script is None:
        return True
    if (line := script_line(script)) is None:
        return _OF_ARGUMENTS.search(script[2]) is not None
    found = line.settings.get(name)
    return (found is None) is (value is None) and (
        value is None or found is None or _same(name, as_written(found), value)
    )


def _with_words(
    template: Object, container: str, changed: Sequence[tuple[int, str]], change: ConfigChange
) -> Surgery:
    """The template with these words, each put into command or args as the word was whose place it
    has.
    """
    item = container_named(template, container)
    command, args = _strings(item, "command"), _strings(item, "args")
    new: dict[str, list[str]] = {"command": [], "args": []}
    seen = -2
    for place, word in changed:
        # What is added behind the command's last word belongs to args where there are any.
        behind = place == seen and place == len(command) - 1 and bool(args)
        new["command" if 0 <= place < len(command) and not behind else "args"].append(word)
        seen = place
    found: dict[str, Any] = {}
    for key, old in (("command", command), ("args", args)):
        if new[key] != old:
            found[key] = new[key]
    edited = _edited(template, container, found)
    diff = [
        line
        for key in found
        for line in _diff(_strings(item, key), new[key], f"containers[{container}].{key}")
    ]
    where = " and ".join(found) or "args"
    patch = ObjectPatch("Template", container, _strategic(container, found))
    return Surgery(change, f"{where} of container {container}", edited, patch, tuple(diff))


def _variable(
    template: Object, container: str, name: str, value: ConfigScalar | None
) -> Surgery | NotChanged:
    item = container_named(template, container)
    args = command_words(item)
    assigned = parse(args).env
    if name in assigned:
        written = with_variable(args, name, _text(value))
        if written is None:
            return NotChanged(f"{name} is set inside the command in a way that is not changed here")
        return _with_words(
            template,
            container,
            written,
            ConfigChange("environment", name, assigned[name], _text(value)),
        )
    entries = list(objects(item, "env"))
    places = [place for place, entry in enumerate(entries) if text(entry, "name") == name]
    index = places[-1] if places else None  # of one that stands there twice the last one counts
    if index is None:
        if value is None:
            return NotChanged(f"{name} is not set")
        entry = {"name": name, "value": _text(value)}
        former, new = None, [*entries, entry]
        strategic: Mapping[str, Any] = entry
    else:
        old = entries[index]
        former = text(old, "value") if "valueFrom" not in old else FROM_REFERENCE
        if value is not None and former == _text(value):
            return NotChanged(f"{name} is {former} already")
        if value is None:
            new = [entry for place, entry in enumerate(entries) if place not in places]
            strategic = {"name": name, "$patch": "delete"}
        else:
            entry = {"name": name, "value": _text(value)}
            new = [*entries[:index], entry, *entries[index + 1 :]]
            strategic = {**entry, "valueFrom": None} if "valueFrom" in old else entry
    edited = _edited(template, container, {"env": new})
    lines = [
        f"{prefix} {name}={_shown(name, found)}"
        for prefix, found in (("-", former), ("+", _text(value)))
        if found is not None
    ]
    patch = ObjectPatch("Template", container, _strategic(container, {"env": [strategic]}))
    change = ConfigChange("environment", name, _shown(name, former), _shown(name, _text(value)))
    return Surgery(
        change,
        f"env of container {container}",
        edited,
        patch,
        (f"containers[{container}].env", *lines),
    )


def is_former_whole(change: ConfigChange) -> bool:
    """Return False if the former value cannot be restored from the change: it came from elsewhere,
    is truncated, or used several shell variables (`$((SEQS * 2))`).
    """
    former = change.former
    if change.kind == "argument" and former is not None:
        return can_be_written(former)
    if change.kind != "environment" or former is None:
        return True
    cut = former.endswith("...") and len(former) == SHOWN_CHARS
    return former not in (FROM_REFERENCE, HIDDEN) and not cut


def _in_config_file(
    template: Object,
    container: str,
    path: str,
    wanted: str,
    value: ConfigScalar | None,
    config_maps: Mapping[str, Object],
    template_only: bool,
) -> Surgery | NotChanged | None:
    """The change where the config file holds the setting; None if it does not, or an argument
    shall overrule it.
    """
    mounted = config_map_of(template, container, path)
    if mounted is None:
        return (
            NotChanged(
                f"{path} is no file of a ConfigMap, and {option_of(wanted)} is no "
                "argument: it cannot be told"
            )
            if value is None
            else None
        )
    document = config_maps.get(mounted.config_map)
    held = mapping(document, "data").get(mounted.key) if document is not None else None
    if not isinstance(held, str):
        return (
            NotChanged(f"ConfigMap {mounted.config_map} with {mounted.key} was not read")
            if value is None
            else None
        )
    former = value_in(held, wanted)
    if former is None:
        return None
    if template_only or mapping(document).get("immutable") is True:
        if value is None:
            return NotChanged(
                f"{wanted} stands in ConfigMap {mounted.config_map}, which other pods may "
                "share: an argument cannot take it away"
            )
        return None
    written = with_setting(held, wanted, value)
    if isinstance(written, NotPlain):
        return (
            None
            if value is not None
            else NotChanged(f"{mounted.key} of ConfigMap {mounted.config_map}: {written.why}")
        )
    if written == held:
        return NotChanged(f"{wanted} is {former} already")
    kind: ChangeKind = "config-file"
    change = ConfigChange(kind, option_of(wanted), former, _text(value))
    new = copy.deepcopy(dict(mapping(document)))
    new["data"][mounted.key] = written
    patch = ObjectPatch("ConfigMap", mounted.config_map, {"data": {mounted.key: written}})
    diff = _diff(
        held.splitlines(), written.splitlines(), f"ConfigMap {mounted.config_map}, {mounted.key}"
    )
    return Surgery(
        change,
        f"{mounted.key} in ConfigMap {mounted.config_map}",
        template,
        patch,
        tuple(diff),
        new,
    )


def _strings(item: Object, key: str) -> list[str]:
    return [word for word in sequence(item, key) if isinstance(word, str)]


def _edited(template: Object, container: str, found: Mapping[str, Any]) -> Object:
    new: dict[str, Any] = copy.deepcopy(dict(template))
    for entry in new["spec"]["containers"]:
        if isinstance(entry, dict) and entry.get("name") == container:
            entry.update(copy.deepcopy(dict(found)))
    return new


def _strategic(container: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": container, **found}]}}}}


def _diff(old: Sequence[str], new: Sequence[str], title: str) -> list[str]:
    """The lines that differ, with one of context. A word of several lines is shown line by line."""
    before = [line for word in old for line in word.split("\n")]
    after = [line for word in new for line in word.split("\n")]
    told = list(difflib.unified_diff(before, after, lineterm="", n=1))[
        2:
    ]  # behind the two lines that name files
    return [title, *(line for line in told if not line.startswith("@@"))]


def _same(name: str, written: str | None, value: ConfigScalar) -> bool:
    """True if vLLM reads both as one: 0.90 and 0.9, 4K and 4096."""
    text = _text(value)
    if written is None or text is None or written == text:
        return written == text
    read = read_value(name, written) if name in SETTINGS else None
    return read is not None and read == read_value(name, text)


def _text(value: ConfigScalar | None) -> str | None:
    if value is None:
        return None
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:.10g}"
        if isinstance(value, float)
        else str(value)
    )


def _shown(name: str, value: str | None) -> str | None:
    return None if value is None else shown(name, value)
