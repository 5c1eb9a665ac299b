"""Differences between two pod templates, flag by flag, as readable lines without secrets.

Secrets: the value of a flag or variable that is named like a secret is never shown; of other
variables only those of the engine's own libraries are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from barostat.core.redaction.credentials import secret_name
from barostat.platform.objects import Object
from barostat.platform.pods import Container, engine_container

_SHOWN_PREFIXES = ("VLLM_", "NCCL_", "CUDA_", "OMP_")
_SHOWN_NAMES = {"HF_HUB_OFFLINE"}
_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
}
SHOWN_CHARS = 120
HIDDEN = "(hidden)"
_NEGATIVE_NUMBER = re.compile(r"^-\d")


def flags(args: Sequence[str]) -> dict[str, str]:
    """The command line as flag -> value; `on` for a switch; `model` for the word after `serve`. A
    shell string is split first.
    """
    words = list(_words(args))
    found: dict[str, str] = {}
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if not word.startswith("-") or _NEGATIVE_NUMBER.match(word):
            if place > 1 and words[place - 2] == "serve":
                found["model"] = word
            continue
        name, equals, value = word.partition("=")
        name = _SHORT.get(name, name.replace("_", "-") if name.startswith("--") else name)
        if (
            not equals
            and place < len(words)
            and (not words[place].startswith("-") or _NEGATIVE_NUMBER.match(words[place]))
        ):
            values = []
            while place < len(words) and (
                not words[place].startswith("-") or _NEGATIVE_NUMBER.match(words[place])
            ):
                values.append(words[place])
                place += 1
            value, equals = " ".join(values), "="
        value = value if equals else "on"
        found[name] = f"{found[name]} {value}" if name in found else value
    return found


def _words(args: Sequence[str]) -> list[str]:
    """The words of the engine's own command: what a `sh -c` runs, split as the shell splits it."""
    words: list[str] = []
    for word in args:
        if (
            " " in word
            and (" --" in word or "vllm" in word)
            and not word.lstrip().startswith(("{", "["))
        ):
            # What stands before is the shell itself (`sh -c`), what comes after are the script's
            # own parameters.
            try:
                words = shlex.split(word.replace("\\\n", " "), comments=True)
            except ValueError:
                words = word.split()
        else:
            words.append(word)
    return words


def shown(name: str, value: str) -> str:
    """The value as a person may see it: hidden where its name says that it is a secret, cut where
    it is long.
    """
    if secret_name(name):
        return HIDDEN
    return value if len(value) <= SHOWN_CHARS else value[: SHOWN_CHARS - 3] + "..."


def changes(before: Object, after: Object) -> tuple[str, ...]:
    """The differences of the two templates' engine containers, one line each: image, flags,
    environment, resources, probes, /dev/shm.
    """
    old, new = engine_container(before), engine_container(after)
    if old is None or new is None:
        return ()
    lines: list[str] = []
    if old.image != new.image:
        lines.append(f"image {old.image or '(none)'} -> {new.image or '(none)'}")
    lines += _compared(flags(old.args), flags(new.args))
    lines += _environment(old, new)
    lines += [f"limits {line}" for line in _compared(old.limits, new.limits)]
    lines += [f"requests {line}" for line in _compared(old.requests, new.requests)]
    if old.shm_bytes != new.shm_bytes:
        lines.append(f"/dev/shm {_mib(old.shm_bytes)} -> {_mib(new.shm_bytes)}")
    for kind in sorted({*old.probes, *new.probes}):
        if old.probes.get(kind) != new.probes.get(kind):
            lines.append(
                f"{kind} probe {_probe_change(old.probes.get(kind), new.probes.get(kind))}"
            )
    return tuple(lines)


def _compared(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """`--max-num-seqs 64 -> 256`, in the order of the new side, what was dropped last."""
    lines = []
    for name in [*new, *(name for name in old if name not in new)]:
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        shown_before = "(absent)" if before is None else shown(name, before)
        shown_after = "(absent)" if after is None else shown(name, after)
        lines.append(f"{name} {shown_before} -> {shown_after}")
    return lines


def _environment(old: Container, new: Container) -> list[str]:
    lines = []
    for name in dict.fromkeys([*new.env_names, *old.env_names]):
        before, after = old.env.get(name), new.env.get(name)
        was, is_there = name in old.env_names, name in new.env_names
        if was == is_there and before == after:
            continue
        may_show = (name.startswith(_SHOWN_PREFIXES) or name in _SHOWN_NAMES) and not secret_name(
            name
        )
        if may_show:
            lines.append(f"env {name} {_env_value(was, before)} -> {_env_value(is_there, after)}")
        else:
            lines.append(
                f"env {name} "
                f"{'changed' if was and is_there else 'added' if is_there else 'removed'}"
            )
    return lines


def _env_value(present: bool, value: str | None) -> str:
    if not present:
        return "(absent)"
    return "(from a reference)" if value is None else value[:120] or "(empty)"


def _mib(amount: float | None) -> str:
    return "unbounded" if amount is None else f"{amount / 2**20:.0f} MiB"


def _probe_change(old: Object | None, new: Object | None) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    numbers = [
        f"{name} {old.get(name)} -> {new.get(name)}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
        and isinstance(old.get(name, 0), int)
        and isinstance(new.get(name, 0), int)
    ]
    return ", ".join(numbers) or "changed"
