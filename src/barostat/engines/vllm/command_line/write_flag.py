"""Changes one argument of a command line in any form and keeps every other byte."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import overload

from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import canonical_name
from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.engines.vllm.command_line.arguments import (
    SHELLS,
    CommandLine,
    GivenArgument,
    parse,
    program_end,
    script_index,
    shell_words_of,
    words_of,
)
from barostat.engines.vllm.command_line.edit_refusals import commands_of, name_at, why_not_edited
from barostat.engines.vllm.command_line.open_words import is_named, open_words
from barostat.engines.vllm.command_line.shell_extents import references
from barostat.engines.vllm.command_line.shell_words import Word

_BEFORE = re.compile(r"(?:[ \t]|\\\r?\n)+$")
_NUMBER_AND_REDIRECTION = re.compile(r"(?<![^\s])\d+$")
_FILLED_IN = re.compile(
    r"(?P<a>[\"']?)\$\([A-Za-z_][\w.-]*\)(?P=a)|(?P<b>\"?)\$(?:\w+|\{\w+(?::?-[\w.]*)?\})(?P=b)"
)
"""All that a value is in a shell text, where the kubelet or the shell fills it in: `$(SEQS)`,
`$SEQS`, `"${SEQS:-64}"`.
"""
_KEPT_FROM_IT = re.compile(r"'[^']*\$[^']*'")
"""And where a shell is kept from that: `'a$b'`."""
_FOR_THE_SHELL = re.compile(r"\$(?!\([A-Za-z_][\w.-]*\))")
_ONE = re.compile(
    r"\$\{?#?\w+(?::?-[^\s{}]*)?\}?|\$\([A-Z_][A-Z0-9_]*\)|\$\(\(.*\)\)|\$\{\w+[#%]+\S*\}"
)
_ALL_OF_THEM = re.compile(r"\$\{?[@*]|\[[@*]\]")
_BRACES = re.compile(r"(?<!\$)\{[^{}]*(?:,|\.\.)[^{}]*\}")
_QUOTED = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_DECLARES = ("export", "declare", "typeset", "readonly", "env")
_OPENS, _CLOSES = ("if", "for", "while", "until", "case", "select"), ("fi", "done", "esac")
_AFTER = re.compile(r"^(?:[ \t]|\\\r?\n)+")


@dataclass(slots=True)
class _Edit:
    """Changes to the elements, collected first and applied from the back, so that places stay
    true.
    """

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
        """The elements as changed, each with the place of the one that it was or now follows; of
        which nothing is left is gone.
        """
        out = list(self.elements)
        for element, start, end, text in sorted(self.spans, reverse=True):
            if out[element][end : end + 1] in ("<", ">") and _NUMBER_AND_REDIRECTION.search(
                out[element][:start] + text
            ):
                text += " "  # 8>log is a redirection alone
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
def with_flag(
    args: list[str] | tuple[str, ...], name: str, value: ConfigScalar | None
) -> list[str]:
    """A list in, a list out."""


def with_flag(args: Sequence[str] | str, name: str, value: ConfigScalar | None) -> list[str] | str:
    """Return the command line with the argument set to `value`, or removed if `value` is None.

    The spelling is kept (dashes or underscores, `=` or a space, short names). If an argument is
    repeated, the last occurrence, which wins, is changed; a removal removes all. A switch takes
    True or False: `--x` or `--no-x`.

    Errors: InputError if the model would have to change and is a separate word, or no command is
    found.
    """
    out = changed_elements(
        [args] if isinstance(args, str) else args, name, value, text=isinstance(args, str)
    )
    return "".join(text for _, text in out) if isinstance(args, str) else [text for _, text in out]


def changed_elements(
    args: Sequence[str], name: str, value: ConfigScalar | None, *, text: bool = False
) -> list[tuple[int, str]]:
    """As `with_flag`, each element with the place that it had; a new one with the place of the one
    before it, or -1.

    `text`: the one element is a shell string.
    Errors: also InputError for a shell text in which a word may stand for something else.
    """
    canonical = canonical_name(name)
    line = parse(args[0] if text else args)
    found = [setting for setting in line.occurrences if setting.name == canonical]
    if canonical == "model" and not found and line.model is not None:
        raise InputError(
            "the model is a word of its own here and not the value of --model: change that word",
            line.model,
        )
    edit = _Edit([str(element) for element in args])
    _check_shell(edit.elements, text=text)
    if not edit.elements and value is not None:
        return [
            (-1, piece) for piece in _pieces(line, canonical, value, Word("", 0, 0, shell=False))
        ]
    named = [setting for setting in found if is_named(setting)]
    may = open_words(line)
    if value is None:
        if may or len(named) < len(found):
            told = (*may, *(setting.words[0] for setting in found if setting not in named))[0]
            raise InputError(
                f"{told.raw or told.text} may hold {canonical} as well, and nothing tells "
                "it: change it by hand",
                canonical,
            )
        for setting in named:
            for word in _whole(setting):
                edit.remove(word)
        return edit.apply()
    if (
        named
        and named[-1] is found[-1]
        and not any(_is_behind(line, word, named[-1]) for word in may)
    ):
        _whole(named[-1])
        _change(edit, named[-1], value)
    else:
        # What stands behind it may say it again: the last one wins, so it goes to the end.
        for setting in named:
            for word in _whole(setting):
                edit.remove(word)
        _add(edit, line, canonical, value, text=text)
    changed = edit.apply()
    _check_written(edit.elements, [piece for _, piece in changed], canonical, text=text)
    return changed


def _check_written(before: Sequence[str], after: Sequence[str], name: str, *, text: bool) -> None:
    """Errors: InputError where another program takes what was written: a shell without a text to
    run.
    """
    plain = [element for element in before if element[:1] not in ("-", "+")]
    is_shell = (
        not text and bool(plain) and plain[-1].rsplit("/", 1)[-1] in SHELLS and len(plain) <= 2
    )
    if is_shell or name not in parse("".join(after) if text else after).settings:
        raise InputError(
            "no vLLM command was found whose argument could be written", " ".join(before)[:80]
        )


def _is_behind(line: CommandLine, word: Word, setting: GivenArgument) -> bool:
    places = [id(each) for each in line.words]
    return places.index(id(word)) > places.index(id(setting.words[0]))


def _whole(setting: GivenArgument) -> tuple[Word, ...]:
    """The words of the setting. Errors: InputError where its value may be several words, or
    none.
    """
    for word in setting.words:
        value = word.raw.partition("=")[2] if word is setting.words[0] else word.raw
        several = bool(_BRACES.search(_QUOTED.sub("", value)))
        for piece, quoted in references(value) if word.shell else ():
            known = bool(word.text) and not re.search(r"\s", word.text)
            one = quoted or (known and (_ONE.fullmatch(piece) is not None))
            several = several or not one or _ALL_OF_THEM.search(piece) is not None
        if several and word.shell:
            raise InputError(
                f"{value[:60]} may be several words, or none: change it by hand", setting.name
            )
    return setting.words


def with_variable(
    args: Sequence[str], name: str, value: str | None
) -> list[tuple[int, str]] | None:
    """The elements with every assignment of that variable in a shell text (`X=1 vllm serve`,
    `export X=1`) set to `value`, or taken away.

    As `changed_elements`; None if no shell text assigns it.
    """
    edit = _Edit([str(element) for element in args])
    script = script_index(edit.elements)
    if script is None or why_not_edited(edit.elements[script], words_of(edit.elements)):
        return None
    found = _assignments(shell_words_of(edit.elements), name)
    for command, word in found or ():
        rest = [
            each
            for each in command
            if each is not word and each.text not in _DECLARES and not each.text.startswith("-")
        ]
        if value is not None:
            edit.put(word, f"{name}={shlex.quote(value)}")
        elif rest:
            edit.remove(word)
        else:
            edit.spans.append((word.element, command[0].start, command[-1].end, f"unset {name}"))
    return edit.apply() if found else None


def _assignments(words: list[Word], name: str) -> list[tuple[list[Word], Word]] | None:
    """The words that set the variable for the server, each with its command; None if one may not
    count (a branch, `unset`, `+=`).
    """
    found: list[tuple[list[Word], Word]] = []
    depth = 0
    for command in commands_of(words):
        place = next(index for index, word in enumerate(words) if word is command[0])
        joined = place > 0 and words[place - 1].text in ("&&", "||", "(", "|")
        depth += sum(word.text in _OPENS for word in command[:2]) - (command[0].text in _CLOSES)
        start = name_at(command)
        verb = command[start].text if start < len(command) else ""
        served = program_end(command)
        if any(
            word.text.startswith(f"{name}+=") or (verb in ("unset", "read") and word.text == name)
            for word in command
        ):
            return None
        upto = served or (len(command) if verb in _DECLARES else 0 if verb else start)
        here = [word for word in command[:upto] if word.raw.startswith(f"{name}=")]
        if here and served is None and (depth > 0 or joined):
            return None
        found += [(command, word) for word in here]
    return found


def _check_shell(elements: list[str], *, text: bool = False) -> None:
    script = 0 if text and elements else script_index(elements)
    if script is None or (text and not elements[0].strip()):
        return
    words = words_of(elements[0] if text else elements)
    if why := why_not_edited(elements[script], words, bare=text):
        raise InputError(
            f"the shell text is not edited here: {why}; change it by hand", elements[script][:80]
        )


def as_written(setting: GivenArgument) -> str | None:
    """The value of the setting; where it is a reference, that, as it stands: `$(SEQS)`,
    `"${SEQS:-64}"`.
    """
    last = setting.words[-1].raw
    raw = last.partition("=")[2] if setting.joined else last
    if _FILLED_IN.fullmatch(raw) or _KEPT_FROM_IT.fullmatch(raw):
        return raw
    refers = setting.text is None and any(word.missing for word in setting.words)
    return (
        setting.spelled.removeprefix(setting.words[0].text.partition("=")[0])[1:]
        if refers
        else setting.text
    )


def can_be_written(value: str) -> bool:
    """Return False for values with several shell variables: they would be quoted here and not be
    expanded.
    """
    return (
        bool(_FILLED_IN.fullmatch(value) or _KEPT_FROM_IT.fullmatch(value))
        or _FOR_THE_SHELL.search(value) is None
    )


def _written(value: ConfigScalar, word: Word) -> str:
    """The value as text, quoted where a shell reads it. Errors: InputError for a variable of a
    shell where none reads it.
    """
    text = (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:.10g}"
        if isinstance(value, float)
        else str(value)
    )
    if word.shell:
        return (
            text
            if _FILLED_IN.fullmatch(text) or _KEPT_FROM_IT.fullmatch(text)
            else shlex.quote(text)
        )
    if _FILLED_IN.fullmatch(text) and _FOR_THE_SHELL.search(text):
        raise InputError("no shell is there to fill it in", text)
    return text


def _change(edit: _Edit, setting: GivenArgument, value: ConfigScalar) -> None:
    first = setting.words[0]
    raw = edit.elements[first.element][first.start : first.end]
    if setting.loose:
        match = re.match(r"(\s*[\w-]+(?:\s*=\s*|\s+))([^\s()]+)", raw)
        if match is not None:
            edit.spans.append(
                (
                    first.element,
                    first.start + match.start(2),
                    first.start + match.end(2),
                    _written(value, first),
                )
            )
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
        second = setting.words[1]
        if second.start == 0 and not first.shell and second.element != first.element:
            second = replace(second, end=len(edit.elements[second.element]))  # `-e 8` is one value
        edit.put(second, _written(value, second))
        for word in setting.words[2:]:
            edit.remove(word)
    elif first.shell:
        edit.put(first, f"{raw} {_written(value, first)}")
    else:
        edit.inserted.setdefault(first.element, []).append(_written(value, first))


def _switch(option: str, on: bool) -> str:
    """`--x-y` or `--no-x-y`, in the spelling of the option that stands there."""
    bare = (
        re.sub(r"^--no[-_]", "--", option.strip("'\""))
        if option.strip("'\"").startswith(("--no-", "--no_"))
        else option.strip("'\"")
    )
    if on or not bare.startswith("--"):
        return bare
    return "--no" + ("_" if "_" in bare and "-" not in bare[2:] else "-") + bare[2:]


def _add(edit: _Edit, line: CommandLine, name: str, value: ConfigScalar, *, text: bool) -> None:
    end = line.end
    if end is None:
        if script_index(edit.elements) is not None or (
            len(edit.elements) == 1 and edit.elements[0].strip()
        ):
            raise InputError(
                "no vLLM command was found whose argument could be written", edit.elements[0][:80]
            )
        end = Word("", 0, 0, element=len(edit.elements) - 1, shell=False)
    pieces = _pieces(line, name, value, end)
    if end.shell:
        edit.spans.append((end.element, end.end, end.end, " " + " ".join(pieces)))
    elif text:
        edit.inserted.setdefault(end.element, []).append(" ".join(pieces))
    else:
        edit.inserted.setdefault(end.element, []).extend(pieces)


def _pieces(line: CommandLine, name: str, value: ConfigScalar, end: Word) -> list[str]:
    """The words of a new argument, joined by `=` where all others are."""
    option = option_of(name)
    if isinstance(value, bool):
        return [_switch(option, value)]
    forms = [
        setting.joined
        for setting in line.occurrences
        if setting.text is not None and (setting.joined or len(setting.words) > 1)
    ]
    joined = bool(forms) and all(forms)
    return [f"{option}={_written(value, end)}"] if joined else [option, _written(value, end)]
