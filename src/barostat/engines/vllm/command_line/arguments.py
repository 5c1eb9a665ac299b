"""A vLLM command line taken apart: every form in which people and manifests write one, down to the
loose notes of a bug report.

Nothing raises: what cannot be read is a problem, a sentence each, and reading goes on.
Source: vLLM 0.32.0 FlexibleArgumentParser (dashes or underscores, dotted names, -O), argparse (last
one wins, unique beginnings).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from barostat.catalog.settings.other_arguments import LISTS
from barostat.catalog.settings.table import ALIASES, SETTINGS, canonical_name, is_switch
from barostat.engines.vllm.command_line.shell_words import Word, expand, split_words

SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh")
_ALL_AS_ONE = '"$*"'
KEYWORDS = ("then", "do", "else", "elif", "if", "while", "until", "{", "!")
"""Words of the shell that may stand before a command's name."""
ONLY_SHOWS = (
    "echo",
    "printf",
    "pgrep",
    "pkill",
    "grep",
    "egrep",
    "logger",
    "which",
    "type",
    ":",
    "#",
)
"""Commands that have words of a command line as text, and start nothing."""
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_FLAG_AND_JSON = re.compile(r"^\s*(--?[A-Za-z][\w.-]*)\s+([{\[].*\S)\s*$", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*(?::?-[^{}]*)?\})")
_NUMBER = re.compile(r"^-\.?\d")
_MODEL = re.compile(r"^(?=.*[a-z])(?:[\w.-]+/[\w.+-]+|\.{0,2}/\S+|\S+\.gguf)$")
_BARE_MODEL = re.compile(r"^[\w.:+-]+$")
_LOOSE = re.compile(r"^([A-Za-z_][\w-]*)(?:\s*=\s*|\s+)([^\s()]+)(?:\s*\(.*\))?$")
_LAUNCHER_NAMES = {
    "GPU_MEM_UTIL": "gpu_memory_utilization",
    "MNBT": "max_num_batched_tokens",
    "TP_SIZE": "tensor_parallel_size",
}
"""Names that launch scripts use for one argument of vLLM and for nothing else."""


@dataclass(frozen=True, slots=True)
class GivenArgument:
    """One argument as given. `text` is its value ("true" and "false" for a switch); None if it has
    none or it is unknown.

    `spelled` quotes the argument; `route` says where it is: `args[3]`, or `args` for a single shell
    string. `loose`: read from a note.
    """

    name: str
    text: str | None
    spelled: str
    route: str
    words: tuple[Word, ...] = ()
    joined: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line by vLLM's own argument names. Of a repeated argument, `settings` has the last
    occurrence and `occurrences` has all.

    `end`: the last word of the engine's command, after which an argument can be added. `words`: the
    words after the program. `started`: the program was found.
    """

    settings: Mapping[str, GivenArgument] = field(default_factory=dict)
    model: str | None = None
    positional: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    occurrences: tuple[GivenArgument, ...] = ()
    end: Word | None = None
    words: tuple[Word, ...] = ()
    started: bool = False

    def text(self, name: str) -> str | None:
        """The value of the argument as text, or None if it is not given."""
        found = self.settings.get(name)
        return found.text if found is not None else None


def parse(args: Sequence[str] | str, env: Mapping[str, str] | None = None) -> CommandLine:
    """Parse a command line in any form.

    Forms: a list as in a process or container; one shell string; `sh -c TEXT`; `python -m
    vllm.entrypoints.openai.api_server`; `vllm serve MODEL`; bare arguments. Environment references
    are resolved from `env` and from assignments in the command itself.
    """
    given = dict(env or {})
    words, problems = _words(args, given)
    body, assigned, program = _engine_part(words)
    if assigned:  # an assignment may be referred to later in the same text
        words, problems = _words(args, {**given, **assigned})
        body, assigned, program = _engine_part(words)
    body = _split(body)
    line = _read(
        body, assigned, problems, whole=not isinstance(args, str), started=program is not None
    )
    return replace(
        line, end=body[-1] if body else program, words=tuple(body), started=program is not None
    )


def shell_words_of(elements: Sequence[str]) -> list[Word]:
    """The words of those elements that a shell reads: none where a program is started without
    one.
    """
    script = script_index(elements)
    return split_words(elements[script], {}, script)[0] if script is not None else []


def words_of(args: Sequence[str] | str) -> list[Word]:
    """All words of a command line, with the operators of a shell text, references as they are
    written.
    """
    return _words(args, {})[0]


def _words(args: Sequence[str] | str, env: Mapping[str, str]) -> tuple[list[Word], list[str]]:
    if isinstance(args, str):
        return split_words(args, env)
    elements = [str(element) for element in args]
    script = script_index(elements)
    if script is not None:
        words, problems = split_words(elements[script], env, script)
        rest = [
            _plain(text, index, env) for index, text in enumerate(elements) if index > script + 1
        ]
        if _has_own_parameters(words):
            return words, problems
        spread = [
            piece
            for word in words
            for piece in (rest if word.text in ("$@", "$*") and word.raw != _ALL_AS_ONE else [word])
        ]
        return spread, problems
    out: list[Word] = []
    problems = []
    stuck: list[str] = []
    for index, element in enumerate(elements):
        if (pair := _FLAG_AND_JSON.match(element)) is not None:
            out += [
                replace(_plain(pair[part], index, env), start=pair.start(part), end=pair.end(part))
                for part in (1, 2)
            ]
            stuck.append(f"args[{index}] ({pair[1]})")
        elif _holds_several(element, out[-1] if out else None):
            several, found = split_words(element, env, index)
            out.extend(several)
            problems += found
            if element.startswith("-"):
                stuck.append(f"args[{index}] ({element.split()[0]})")
        else:
            out.append(_plain(element, index, env))
    if stuck:
        problems.append(
            "an argument and its value in one element, which vLLM refuses where a "
            f"container is started so: {', '.join(stuck)}"
        )
    return out, problems


def _plain(text: str, index: int, env: Mapping[str, str]) -> Word:
    value, missing = expand(text, env)
    return Word(value, 0, len(text), element=index, shell=False, missing=missing)


def script_index(elements: Sequence[str]) -> int | None:
    """Index of the text that `sh -c`, `bash -lc` and the like run."""
    for index, element in enumerate(elements):
        if element.rsplit("/", 1)[-1] in SHELLS:
            for at in range(index + 1, len(elements) - 1):
                if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", elements[at]):
                    return next(
                        (
                            text
                            for text in range(at + 1, len(elements))
                            if not elements[text].startswith(("-", "+"))
                        ),
                        None,
                    )
                if not elements[at].startswith(("-", "+")) and not elements[at - 1].endswith(
                    ("o", "O")
                ):
                    break
    if any(element.rsplit("/", 1)[-1].startswith("python") for element in elements):
        return None
    return next(
        (
            i + 1
            for i, e in enumerate(elements[:-1])
            if e in ("-c", "-lc", "-ec") and "vllm" in elements[i + 1]
        ),
        None,
    )


def _has_own_parameters(words: Sequence[Word]) -> bool:
    """True if "$@" is something else than the elements behind the text: `set -- ...`, `shift`, a
    function.
    """
    texts = [word.text if not word.operator else f"\n{word.text}" for word in words]
    return any(
        text == "shift"
        or (text == "set" and after and not after.startswith(("-e", "-u", "-x", "-o", "+", "\n")))
        or (text, after) == ("\n(", "\n)")
        for text, after in pairwise([*texts, ""])
    )


def _holds_several(element: str, before: Word | None) -> bool:
    """True if one list element holds several words of a command line, as people write
    `--max-model-len 4096` into a YAML list.
    """
    if not re.search(r"\s", element.strip()):
        return False
    if re.match(r"^\s*--?[A-Za-z][\w.-]*\s", element):
        return True
    waits = (
        before is not None
        and before.text.startswith("-")
        and "=" not in before.text
        and not is_switch(canonical_name(before.text))
    )
    if waits or re.match(r"^\s*--?[A-Za-z][\w.-]*=", element):
        return False
    return (
        re.match(r"^\s*(?:\S*/)?vllm\s+serve\b", element) is not None
        or re.search(r"\s--[A-Za-z]", element) is not None
    )


def _engine_part(words: Sequence[Word]) -> tuple[list[Word], dict[str, str], Word | None]:
    """Return the words after the program, the assignments before it, and the program's last word.
    Without a program: the longest command.

    A variable that is assigned several values, as in the branches of an `if`, counts as undefined.
    """
    commands: list[list[Word]] = [[]]
    for word in words:
        if word.operator:
            commands.append([])
        else:
            commands[-1].append(word)
    assigned: dict[str, str] = {}
    several: set[str] = set()
    for command in commands:
        start = program_end(command, alone=len(commands) == 1)
        head = command if start is None else command[:start]
        for word in head if start is not None or _is_assignments(command) else ():
            if match := _ASSIGNMENT.match(word.text):
                value = expand(match[2], assigned)[0] if word.missing else match[2]
                if assigned.get(match[1], value) != value and match[1] not in word.missing:
                    several.add(match[1])
                assigned[match[1]] = value
        if start is not None:
            return (
                command[start:],
                {name: value for name, value in assigned.items() if name not in several},
                command[start - 1],
            )
    best = max(commands, key=lambda command: sum(word.text.startswith("--") for word in command))
    return ([] if _is_assignments(best) and len(commands) > 1 else best), assigned, None


def _split(words: Sequence[Word]) -> list[Word]:
    """The words with each that is a variable and no more, outside of quotes, taken apart at its
    blanks, as a shell does.
    """
    found: list[Word] = []
    for word in words:
        pieces = (
            word.text.split()
            if word.shell and not word.missing and _VARIABLE.fullmatch(word.raw)
            else []
        )
        found += [replace(word, text=piece) for piece in pieces] if len(pieces) > 1 else [word]
    return found


def _is_assignments(command: Sequence[Word]) -> bool:
    """True for `export A=1 B=2` and for `A=1` alone, as a shell has them."""
    words = [word for word in command if word.text not in ("export", "declare", "-x")]
    return bool(words) and all(word.shell and _ASSIGNMENT.match(word.text) for word in words)


def program_end(command: Sequence[Word], *, alone: bool = False) -> int | None:
    """Return the index of the first word after the program; None if no server is started (it is
    printed, searched for, or asked for its help).

    `alone`: the text contains nothing else, so a bare `serve` is vLLM's.
    """
    texts = [word.text for word in command]
    first = next(
        (text for text in texts if text not in KEYWORDS and not _ASSIGNMENT.match(text)), ""
    )
    if first in ONLY_SHOWS or "--help" in texts:
        return None
    for index, text in enumerate(texts):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if text.rsplit("/", 1)[-1] == "vllm" and following == "serve":
            return index + 2
        if text == "-m" and following.startswith("vllm.entrypoints"):
            return index + 2
        if text.rsplit("/", 1)[-1] in ("api_server.py", "api_server"):
            return index + 1
    return 1 if texts[:1] == ["serve"] and (alone or not command[0].shell) else None


def _read(
    body: Sequence[Word],
    assigned: dict[str, str],
    problems: list[str],
    *,
    whole: bool,
    started: bool,
) -> CommandLine:
    occurrences: list[GivenArgument] = []
    positional: list[str] = []
    model: str | None = None
    index = 0
    while index < len(body):
        word = body[index]
        if word.text.startswith("-") and len(word.text) > 1 and not _NUMBER.match(word.text):
            setting, used, problem = _argument(body, index, whole)
            occurrences.append(setting)
            problems += problem
            index += used
            continue
        index += 1
        loose = _loose(word, whole)
        assignment = _ASSIGNMENT.match(word.text)
        if loose is not None:
            occurrences.append(loose)
        elif (
            model is None
            and not word.missing
            and (
                _MODEL.match(word.text)
                or (index == 1 and (started or _BARE_MODEL.match(word.text)))
            )
        ):
            model = word.text
        elif assignment and assignment[1].isupper():
            assigned[assignment[1]] = assignment[2]
        else:
            positional.append(word.text)
            problems += [
                f"{name} stands in the command line and nothing tells its value"
                for name in word.missing
            ]
    settings = {setting.name: setting for setting in occurrences}
    if "model" in settings:
        model = settings["model"].text or model
    return CommandLine(
        settings, model, tuple(positional), assigned, tuple(problems), tuple(occurrences)
    )


def _argument(
    body: Sequence[Word], index: int, whole: bool
) -> tuple[GivenArgument, int, list[str]]:
    """Return the argument at `index`, its number of words, and its problems."""
    word = body[index]
    head, equals, value = word.text.partition("=")
    route = f"args[{word.element}]" if whole else "args"
    problems: list[str] = []
    if (level := re.fullmatch(r"-O=?(\d|\w+)", word.text)) is not None:
        return GivenArgument("optimization_level", level[1], word.text, route, (word,), True), 1, []
    root, dot, path = head.partition(".")
    name = canonical_name(root)
    if dot:
        name = f"{name}.{path.removesuffix('+')}"
    negated = name.startswith("no_") and name not in SETTINGS
    name = name.removeprefix("no_") if negated else name
    if negated:
        name = canonical_name("--" + name)
        return GivenArgument(name, "false", word.text, route, (word,)), 1, []
    following = body[index + 1 :]
    if equals:
        if is_switch(name) and value.lower() not in ("true", "false"):
            problems.append(f"{word.text}: {head} takes no value")
        if word.missing:
            problems += [
                f"the value of {head} is {value}, and nothing tells {missing}"
                for missing in word.missing
            ]
        return (
            GivenArgument(name, None if word.missing else value, word.text, route, (word,), True),
            1,
            problems,
        )
    if is_switch(name):
        if following and following[0].text.lower() in ("true", "false"):
            return (
                GivenArgument(
                    name,
                    following[0].text.lower(),
                    f"{head} {following[0].text}",
                    route,
                    (word, following[0]),
                ),
                2,
                [],
            )
        return GivenArgument(name, "true", word.text, route, (word,)), 1, []
    if not following or _is_option(following[0].text):
        if name in SETTINGS:
            return GivenArgument(name, None, word.text, route, (word,)), 1, [f"{head} has no value"]
        return GivenArgument(name, "true", word.text, route, (word,)), 1, []
    several = name in LISTS or (name in SETTINGS and SETTINGS[name].kind == "list")
    taken = [following[0]]
    if several:
        taken = []
        for candidate in following:
            if _is_option(candidate.text):
                break
            taken.append(candidate)
    missing = [reference for taken_word in taken for reference in taken_word.missing]
    problems += [
        f"the value of {head} is {taken[0].text}, and nothing tells {reference}"
        for reference in missing
    ]
    text = None if missing else " ".join(each.text for each in taken)
    spelled = " ".join([head, *(each.text for each in taken)])
    return GivenArgument(name, text, spelled, route, (word, *taken)), 1 + len(taken), problems


def _is_option(text: str) -> bool:
    """True for a word that argparse takes for an argument and not for a value."""
    return (
        (text.startswith("--") and len(text) > 2)
        or text.partition("=")[0] in ALIASES
        or (text.startswith("-O") and len(text) == 3)
    )


def _loose(word: Word, whole: bool) -> GivenArgument | None:
    """A setting written as a note (`max_num_seqs=1`, `gpu_memory_utilization 0.50`,
    `GPU_MEM_UTIL=0.87`), where that can mean one thing.
    """
    match = _LOOSE.match(word.text.strip())
    if match is None:
        return None
    name = _LAUNCHER_NAMES.get(match[1]) or (
        match[1].lower() if match[1].isupper() else match[1]
    ).replace("-", "_")
    flag = SETTINGS.get(ALIASES.get(name, name))
    if flag is None or not re.search(r"_|^watermark$", flag.name) or not _fits(flag.kind, match[2]):
        return None
    route = f"args[{word.element}]" if whole else "args"
    return replace(GivenArgument(flag.name, match[2], word.text, route, (word,)), loose=True)


def _fits(kind: str, text: str) -> bool:
    """True if a value of that kind can look like this."""
    match kind:
        case "int" | "length":
            return re.fullmatch(r"\d+(?:\.\d+)?[kKmMgG]?", text) is not None
        case "float":
            return re.fullmatch(r"\d*\.?\d+", text) is not None
        case "bool":
            return text.lower() in ("true", "false")
        case _:
            return True
