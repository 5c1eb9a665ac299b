"""One argument of a command line changed, and everything else left byte for byte, in whatever form the command line is written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

from barostat.catalog.vllm_flags import FLAGS, canonical_name
from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.engines.vllm.command_line import CommandLine, Setting, parse, shell_words_of
from barostat.engines.vllm.shell_words import Word

_BEFORE = re.compile(r"(?:[ \t]|\\\r?\n)+$")
_AFTER = re.compile(r"^(?:[ \t]|\\\r?\n)+")


@dataclass(slots=True)
class _Edit:
    """Changes to the elements, collected first and applied from the back, so that places stay true."""

    elements: list[str]
    spans: list[tuple[int, int, int, str]] = field(default_factory=list)
    inserted: dict[int, list[str]] = field(default_factory=dict)

    def put(self, word: Word, text: str) -> None:
        """Write `text` in place of the word."""
        self.spans.append((word.element, word.start, word.end, text))

    def remove(self, word: Word) -> None:
        """Take the word away, with the blanks before it (behind it where it comes first)."""
        element = self.elements[word.element]
        before = _BEFORE.search(element[: word.start])
        start = before.start() if before else word.start
        after = _AFTER.search(element[word.end :]) if start == 0 else None
        self.spans.append((word.element, start, word.end + (after.end() if after else 0), ""))

    def apply(self) -> list[tuple[int, str]]:
        """The elements as changed, each with the place of the one that it was or now follows; of which nothing is left is gone."""
        out = list(self.elements)
        for element, start, end, text in sorted(self.spans, reverse=True):
            out[element] = out[element][:start] + text + out[element][end:]
        touched = {element for element, *_ in self.spans}
        result: list[tuple[int, str]] = []
        for index, element_text in enumerate(out):
            if index not in touched or element_text.strip():
                result.append((index, element_text))
            result += [(index, inserted) for inserted in self.inserted.get(index, [])]
        return result


@overload
def with_flag(args: str, name: str, value: ConfigScalar | None) -> str:
    """Text in, text out."""


@overload
def with_flag(args: list[str] | tuple[str, ...], name: str, value: ConfigScalar | None) -> list[str]:
    """A list in, a list out."""


def with_flag(args: Sequence[str] | str, name: str, value: ConfigScalar | None) -> list[str] | str:
    """The same command line with that argument set to `value`; added where it is absent, taken away where `value` is None.

    Spelling stays (dashes or underscores, `=` or a space, short names). Of a repeated argument the last one, which wins, is changed; a
    removal takes all of them. A switch takes True or False: `--x` or `--no-x`.
    Errors: InputError where the model would have to change and stands as a word of its own, and where no command is found.
    """
    out = changed_elements([args] if isinstance(args, str) else args, name, value, text=isinstance(args, str))
    return "".join(text for _, text in out) if isinstance(args, str) else [text for _, text in out]


def changed_elements(args: Sequence[str], name: str, value: ConfigScalar | None, *, text: bool = False) -> list[tuple[int, str]]:
    """As `with_flag`, each element with the place that it had; a new one with the place of the one before it, or -1.

    `text`: the one element is a shell string.
    """
    canonical = canonical_name(name)
    line = parse(args[0] if text else args)
    found = [setting for setting in line.occurrences if setting.name == canonical]
    if canonical == "model" and not found and line.model is not None:
        raise InputError("the model is a word of its own here and not the value of --model: change that word", line.model)
    edit = _Edit([str(element) for element in args])
    if not edit.elements and value is not None:
        return [(-1, piece) for piece in _pieces(line, canonical, value, Word("", 0, 0, shell=False))]
    if value is None:
        for setting in found:
            for word in setting.words:
                edit.remove(word)
    elif found:
        _change(edit, found[-1], value)
    else:
        _add(edit, line, canonical, value)
    return edit.apply()


def with_variable(args: Sequence[str], name: str, value: str | None) -> list[tuple[int, str]] | None:
    """The elements with every assignment of that variable in a shell text (`X=1 vllm serve`, `export X=1`) set to `value`, or taken away.

    As `changed_elements`; None where no shell text assigns it.
    """
    edit = _Edit([str(element) for element in args])
    found = [word for word in shell_words_of(edit.elements) if word.text.startswith(f"{name}=")]
    for word in found:
        if value is None:
            edit.remove(word)
        else:
            edit.put(word, f"{name}={shlex.quote(value)}")
    return edit.apply() if found else None


def _written(value: ConfigScalar, word: Word) -> str:
    """The value as text, quoted where a shell reads it."""
    text = str(value).lower() if isinstance(value, bool) else f"{value:.10g}" if isinstance(value, float) else str(value)
    return shlex.quote(text) if word.shell else text


def _change(edit: _Edit, setting: Setting, value: ConfigScalar) -> None:
    first = setting.words[0]
    raw = edit.elements[first.element][first.start : first.end]
    if setting.loose:
        match = re.match(r"(\s*[\w-]+(?:\s*=\s*|\s+))([^\s()]+)", raw)
        if match is not None:
            edit.spans.append((first.element, first.start + match.start(2), first.start + match.end(2), _written(value, first)))
        return
    if isinstance(value, bool):
        edit.put(first, _switch(raw.split("=")[0], value))
        for word in setting.words[1:]:
            edit.remove(word)
    elif setting.joined:
        head = first.text.partition("=")[0]
        head = head if "=" in first.text else first.text[:2]  # -O3
        edit.put(first, head + ("=" if "=" in first.text else "") + _written(value, first))
    elif len(setting.words) > 1:
        edit.put(setting.words[1], _written(value, setting.words[1]))
        for word in setting.words[2:]:
            edit.remove(word)
    elif first.shell:
        edit.put(first, f"{raw} {_written(value, first)}")
    else:
        edit.inserted.setdefault(first.element, []).append(_written(value, first))


def _switch(option: str, on: bool) -> str:
    """`--x-y` or `--no-x-y`, in the spelling of the option that stands there."""
    bare = re.sub(r"^--no[-_]", "--", option.strip("'\"")) if option.strip("'\"").startswith(("--no-", "--no_")) else option.strip("'\"")
    if on or not bare.startswith("--"):
        return bare
    return "--no" + ("_" if "_" in bare and "-" not in bare[2:] else "-") + bare[2:]


def _add(edit: _Edit, line: CommandLine, name: str, value: ConfigScalar) -> None:
    end = line.end
    if end is None:
        if len(edit.elements) == 1 and edit.elements[0].strip():
            raise InputError("no vLLM command was found to which an argument could be added", edit.elements[0][:80])
        end = Word("", 0, 0, element=len(edit.elements) - 1, shell=False)
    pieces = _pieces(line, name, value, end)
    if end.shell:
        edit.spans.append((end.element, end.end, end.end, " " + " ".join(pieces)))
    else:
        edit.inserted.setdefault(end.element, []).extend(pieces)


def _pieces(line: CommandLine, name: str, value: ConfigScalar, end: Word) -> list[str]:
    """The words of a new argument, joined by `=` where all others are."""
    option = FLAGS[name].option if name in FLAGS else "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [_switch(option, value)]
    forms = [setting.joined for setting in line.occurrences if setting.text is not None and (setting.joined or len(setting.words) > 1)]
    joined = bool(forms) and all(forms)
    return [f"{option}={_written(value, end)}"] if joined else [option, _written(value, end)]
