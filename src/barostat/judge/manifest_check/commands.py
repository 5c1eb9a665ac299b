"""The command line of one engine -> its arguments, each with the place at which it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from barostat.catalog.settings.table import SETTINGS, canonical_name, is_unset
from barostat.engines.vllm.command_line.arguments import (
    CommandLine,
    GivenArgument,
    parse,
    shell_words_of,
)
from barostat.engines.vllm.command_line.config import read_value
from barostat.engines.vllm.command_line.shell_words import Word
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Argument, Given

SERVER = re.compile(
    r"\bvllm['\"]?[\s,]+['\"]?serve\b|vllm[./]entrypoints[./](?:openai[./])?api_server|(?:^|[\s/])api_server(?:\.py)?(?=\s|$)"
)
_STUCK = re.compile(r"^\s*(--?[A-Za-z][\w.-]*)[ \t]+(\S.*)$", re.DOTALL)
LONGEST_COMMAND = 64_000
"""Characters: half of Linux's limit for one argument. Longer text in the place of a command is
data.
"""
_YAML_WORDS = {
    **dict.fromkeys(("true", "yes", "on"), "true"),
    **dict.fromkeys(("false", "no", "off"), "false"),
    **dict.fromkeys(("null", "~"), "None"),
}
_KUBERNETES = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


@dataclass(frozen=True, slots=True)
class Command:
    """`shell`: run by a shell. `complete`: no part of it comes from an unreadable source.
    `assigned`: variables set in it.

    `cut`: its last word, if that is a backslash followed by a blank, so that the line does not
    continue.
    """

    arguments: Mapping[str, Argument] = field(default_factory=dict)
    occurrences: tuple[Argument, ...] = ()
    model: Given | None = None
    stuck: tuple[tuple[Place, str], ...] = ()
    unset: tuple[tuple[Place, str], ...] = ()
    assigned: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    shell: bool = False
    cut: Place | None = None


def starts_server(text: str) -> bool:
    """True if the text starts vLLM's HTTP server."""
    return len(text) <= LONGEST_COMMAND and SERVER.search(text) is not None


_OTHER_WORK = re.compile(r"\s*(?:bench|run-batch|collect-env|complete|chat)(?=\s|$)")
_STARTS = re.compile(r"(?:/(?:[\w.-]+/)*)?(?:vllm|serve|python3?|sh|bash)$")


def handed_on(document: Document, nodes: Sequence[Node], reference: str) -> Given | None:
    """The first word of what an image is given, where that starts the server which its entry point
    starts already.

    Source: vLLM docker/Dockerfile (vllm-openai: ENTRYPOINT is `vllm serve`; up to 0.11.0 the module
    of the API server).
    """
    if not nodes or not starts_itself(reference):
        return None
    first, _, rest = nodes[0].text.strip().partition(" ")
    joined = " ".join([rest, *(node.text for node in nodes[1:])])
    if not _STARTS.match(first) or (first != "serve" and not starts_server(f"{first} {joined}")):
        return None
    return Given("vllm serve" if first == "vllm" else first, document.place(nodes[0]))


_SHELL = re.compile(r"(?:/(?:[\w.-]+/)*)?(?:ba|da|a|z|k)?sh$")
_OWN_PARAMETER = re.compile(r"\$(?:[@*0-9#]|\{[@*0-9#])")


def dropped(document: Document, nodes: Sequence[Node]) -> Given | None:
    """Return the script of `sh -c` where the words behind it are lost: a shell runs one word, and
    makes the others its parameters, which this script does not use.

    Source: POSIX, sh, `-c` (command_string, command_name, argument).
    """
    for at, node in enumerate(nodes[:-2]):
        first = at + 3 if nodes[at + 2].text == "--" else at + 2  # `--` ends the shell's options
        script = nodes[min(first, len(nodes) - 1)]
        if (
            _SHELL.match(node.text)
            and re.fullmatch(r"-[a-z]*c", nodes[at + 1].text)
            and len(nodes) > first + 1
            and not _OWN_PARAMETER.search(script.text)
            and starts_server(" ".join(each.text for each in nodes[first:]))
        ):
            return Given(script.text, document.place(script))
    return None


def starts_itself(reference: str) -> bool:
    """True for the project's own image whose entry point is the server, whatever its tag."""
    return (
        re.match(
            r"(?:(?:docker\.io|index\.docker\.io|registry\.hub\.docker\.com)/)?vllm/vllm-openai(?:[:@]|$)",
            reference,
        )
        is not None
    )


def is_program(word: str) -> bool:
    """True for a word that, first behind an image whose entry point is the server, is neither its
    argument nor a model: `tail`.
    """
    return re.match(r"/(?:usr/)?s?bin/|[^-/$][^/$]*$", word) is not None


def may_serve(words: Sequence[str]) -> bool:
    """True if an image whose entry point is the server takes these words as arguments; `serve
    MODEL` too, which some images take, but not Ray's `serve run`.
    """
    if not words or not is_program(words[0]):
        return not words or _OTHER_WORK.match(words[0]) is None
    return (
        words[0] == "serve"
        and len(words) > 1
        and words[1] not in ("run", "deploy", "start", "build")
    )


def read_elements(
    document: Document, nodes: Sequence[Node], env: Mapping[str, str], *, all_env: bool
) -> Command:
    """The command line in list form, as containers have it. `all_env`: `env` is all that the
    container gets.
    """
    texts = [node.text for node in nodes]
    line = parse(texts, env)
    shell = bool(shell_words_of(texts))

    def place(word: Word) -> Place:
        node = nodes[word.element] if word.element < len(nodes) else nodes[-1]
        return (
            document.within(node, word.start, word.end)
            if word.end > word.start
            else document.place(node)
        )

    stuck, unset = [], []
    if not shell:
        for node in nodes:
            match = _STUCK.match(node.text)
            if match is not None and canonical_name(match[1]) in SETTINGS | {
                match[1].strip("-").replace("-", "_"): 1
            }:
                stuck.append((document.place(node), match[1]))
            absent = [
                found
                for found in _KUBERNETES.finditer(node.text)
                if all_env and found[1] not in env
            ]
            unset += [
                (document.within(node, found.start(), found.end()), found[1]) for found in absent
            ]
    return _command(document, line, place, nodes, tuple(stuck), tuple(unset), shell)


def read_text(
    document: Document,
    node: Node,
    env: Mapping[str, str],
    start: int = 0,
    end: int | None = None,
    text: str | None = None,
) -> Command:
    """The command line in one text (or from `start` to `end` of it), as a script or a unit file has
    it.

    `text`: of the same length, what is to be read in its stead.
    """
    text = node.text[start:end] if text is None else text

    def place(word: Word) -> Place:
        return document.within(node, start + word.start, start + word.end)

    return _command(document, parse(text, env), place, [node], (), (), True)


def _command(
    document: Document,
    line: CommandLine,
    place: Callable[[Word], Place],
    nodes: Sequence[Node],
    stuck: tuple[tuple[Place, str], ...],
    unset: tuple[tuple[Place, str], ...],
    shell: bool,
) -> Command:
    known: dict[int, Argument] = {}
    for setting in line.occurrences:
        if setting.loose or (setting.text is not None and is_unset(setting.name, setting.text)):
            continue
        places = tuple(place(word) for word in setting.words)
        if any(
            word.shell and word.raw.startswith("$") for word in setting.words
        ):  # what a variable holds is not edited where it is used
            places = tuple(replace(each, start=-1, end=-1) for each in places)
        known[id(setting)] = _argument(document, setting, places)
    last = {
        setting.name: known[id(setting)] for setting in line.occurrences if id(setting) in known
    }
    complete = not any("$" in word for word in line.positional) and not any(
        "{{" in node.text for node in nodes
    )
    end = line.words[-1] if line.words else None
    cut = (
        place(end)
        if end is not None and end.shell and end.raw.startswith("\\") and end.text.isspace()
        else None
    )
    return Command(
        last,
        tuple(known.values()),
        _model(document, line, last, nodes),
        stuck,
        unset,
        dict(line.env),
        complete,
        shell,
        cut,
    )


_DEFAULT = re.compile(r"\$\{([A-Za-z_]\w*):?-")
"""A variable with a default, in a shell's text."""


def _argument(document: Document, setting: GivenArgument, words: tuple[Place, ...]) -> Argument:
    name = setting.name
    first, last = words[0], words[-1]
    whole = first
    if first.start >= 0 and last.end > first.start:
        between = document.text[first.start : last.end]
        whole = document.at(first.start, last.end) if "\n" not in between else first
    value = read_value(name, setting.text) if setting.text is not None else None
    default = _DEFAULT.search(" ".join(word.raw for word in setting.words))
    return Argument(
        name,
        setting.text,
        value,
        setting.spelled,
        whole,
        words,
        joined=setting.joined,
        default_of=default[1] if default is not None else "",
    )


def _model(
    document: Document, line: CommandLine, arguments: Mapping[str, Argument], nodes: Sequence[Node]
) -> Given | None:
    if line.model is None:
        return None
    found = arguments.get("model")
    if found is not None:
        return Given(line.model, found.place)
    for node in nodes:
        at = node.text.find(line.model)
        if at >= 0:
            return Given(line.model, document.within(node, at, at + len(line.model)))
    return Given(line.model, document.place(nodes[0]))


def assigned_in(document: Document, nodes: Sequence[Node], command: Command) -> dict[str, Given]:
    """The variables that a shell text among the nodes sets for its engine, each where it is set.
    Not edited: what is around them stays.
    """
    found: dict[str, Given] = {}
    for name, value in command.assigned.items():
        for node in nodes if command.shell else ():
            match = re.search(rf"(?<![\w$]){re.escape(name)}=", node.text)
            if match is not None:
                found[name] = Given(
                    value,
                    replace(document.within(node, match.start(), match.end()), start=-1, end=-1),
                )
                break
    return found


def config_entries(
    document: Document, node: Node, start: int = 0, end: int | None = None
) -> dict[str, Argument]:
    """Return the settings of a `--config` file that stands in a scalar, or from `start` to `end` of
    it: a flat mapping, one entry a line.
    """
    entries: dict[str, Argument] = {}
    offset = start
    for row in node.text[start:end].splitlines(keepends=True):
        match = re.match(
            r"^[ \t]*([A-Za-z][\w-]*)[ \t]*:[ \t]+([^#\n]*?)[ \t]*(?:#.*)?$", row.rstrip("\r\n")
        )
        indented = row[:1] in (" ", "\t") and not start
        if match is not None and match[2] and not indented:
            name = canonical_name(match[1])
            text = _as_passed_on(match[2])
            if text is not None and is_unset(name, text):
                offset += len(row)
                continue
            place = document.within(node, offset + match.start(1), offset + match.end(2))
            where = document.within(node, offset + match.start(2), offset + match.end(2))
            value = read_value(name, text) if text is not None else None
            entries[name] = Argument(
                name, text, value, f"{match[1]}: {match[2]}", place, (place, where), "config-file"
            )
        offset += len(row)
    return entries


def _as_passed_on(written: str) -> str | None:
    """A value of a `--config` file as vLLM hands it to its parser, which has read it as YAML 1.1;
    None for one on the lines below.

    Source: vLLM 0.32.0 FlexibleArgumentParser.load_config_file (yaml.safe_load, then `str`).
    """
    if written[0] in "|>":
        return None
    return _YAML_WORDS.get(written.lower(), written.strip("'\""))
