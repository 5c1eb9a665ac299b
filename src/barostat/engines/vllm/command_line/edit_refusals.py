"""Shell texts that are not edited, and why: where a word stands for something else than itself, a
changed word may change something else.

    understood                                               refused, with the reason
    quotes, references, lists, pipes, groups                 a second command that starts vLLM, one in a text (eval, sh -c, trap)
    redirections, `if`, loops, `case`, functions             one in a here-document or a substitution
    here-documents and substitutions beside the command      what is not known to run the words behind it (xargs, find, ssh)
    programs that start another (`exec`, `env`, `timeout`)   aliases, functions with the name of a
    program, $'..', carriage returns

Source: POSIX.1-2024, Shell Command Language; Bash 5.2 manual (ANSI-C quoting, here-documents,
compound commands).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from barostat.engines.vllm.command_line.arguments import KEYWORDS, ONLY_SHOWS, SHELLS, program_end
from barostat.engines.vllm.command_line.shell_extents import references
from barostat.engines.vllm.command_line.shell_words import Word, read_shell

_STARTERS = (
    "exec", "env", "nohup", "nice", "ionice", "time", "command", "stdbuf", "setsid", "numactl", "tini", "dumb-init", "catatonit",
    "unbuffer", "sudo", "opentelemetry-instrument", "ddtrace-run", "mpirun", "accelerate", "coverage",
)  # fmt: skip
_STARTERS_OF_TWO = (
    "timeout", "gosu", "su-exec", "chroot", "taskset", "chrt", "nsys", "ncu", "uv", "poetry", "conda", "pipenv", "pdm", "doppler",
    "chamber",
)  # fmt: skip
"""Programs that start the command behind them; these with a word of their own between."""
_PYTHON = re.compile(r"python[\d.]*")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=")
_SERVER = re.compile(r"\bvllm\s+serve\b|vllm\.entrypoints")


def why_not_edited(text: str, words: Sequence[Word] | None = None, *, bare: bool = False) -> str:
    """Return why this shell text is not edited; empty if all its words are literal and exactly one
    command starts vLLM.

    `words`: the words of the whole command line, if the shell has arguments ("$@"). `bare`: the
    text may be arguments without a program.
    """
    found = read_shell(text, {})
    if found.problems or found.doubts:
        return (*found.problems, *found.doubts)[0]
    if "\r" in text:
        return "it has a carriage return, which a shell takes for a letter"
    words = found.words if words is None else words
    if why := _redefined(words):
        return why
    if hidden := next((each for each in found.hidden if _SERVER.search(each)), ""):
        kind = (
            "backticks"
            if hidden.startswith("`")
            else "a substitution"
            if hidden.startswith(("$", "<", ">"))
            else "a here-document"
        )
        return f"{kind} in it may start vLLM"
    commands = list(commands_of(words))
    alone = len(commands) == 1
    servers = 0
    for command in commands:
        end = program_end(command, alone=alone)
        if why := _why(command, end):
            return why
        if end is not None:
            servers += 1
            ticks = next(
                (
                    piece
                    for word in command
                    for piece, _ in references(word.raw)
                    if piece.startswith("`")
                ),
                "",
            )
            if ticks:
                return f"the command has backticks in it ({ticks[:40]})"
    if servers > 1:
        return f"it starts vLLM in {servers} places"
    return "" if servers or (bare and alone) else "it has no command that is known to start vLLM"


def commands_of(words: Sequence[Word]) -> Iterator[list[Word]]:
    """The words of each command."""
    found: list[Word] = []
    for word in words:
        if not word.operator:
            found.append(word)
        elif found:
            yield found
            found = []
    if found:
        yield found


def name_at(command: Sequence[Word]) -> int:
    """Index of the command's name, behind keywords and assignments; as many as there are words
    where it has none.
    """
    return next(
        (
            index
            for index, word in enumerate(command)
            if word.text not in KEYWORDS and not _ASSIGNED.match(word.text)
        ),
        len(command),
    )


def _why(command: Sequence[Word], end: int | None) -> str:
    """Why this command is not understood, or makes another one not understood."""
    start = name_at(command)
    name = _bare(command[start].text) if start < len(command) else ""
    if name in ONLY_SHOWS:
        return ""
    if name in ("alias", "coproc", "select") or (name == "eval" and end is not None):
        return f"it has {name}, which gives a command another meaning"
    if end is None:
        told = next((word for word in command if _SERVER.search(word.text)), None)
        if told is None:
            return ""
        if name in SHELLS:
            return f"it starts another shell ({name} -c)"
        return f"{name or 'a variable'} has a text that starts vLLM ({told.raw[:40]})"
    if name in SHELLS:
        return f"it starts another shell ({name})"
    before = ""
    for index in range(start, end - 1):
        text = command[index].text
        bare = _bare(text)
        if bare == "vllm" or text == "-m" or bare.startswith("api_server"):
            break
        plain = (
            text.startswith("-")
            or text.isdigit()
            or _ASSIGNED.match(text)
            or bare in _STARTERS
            or bare in _STARTERS_OF_TWO
        )
        taken = before in _STARTERS_OF_TWO or (before.startswith("-") and index > start)
        if (
            not (plain or taken or _PYTHON.fullmatch(bare) or "PYTHON" in text)
            or bare in SHELLS
            or bare in ("eval", "xargs")
        ):
            return f"what {text[:40]} does with the words behind it is not known"
        before = bare
    if any(word.text == "--" for word in command[end:]):
        return "words behind -- are no arguments"
    return ""


def _redefined(words: Sequence[Word]) -> str:
    """Where a function has the name of a program that the command may use."""
    for index, word in enumerate(words):
        following = [(after.text, after.operator) for after in words[index + 1 : index + 3]]
        named = not word.operator and (
            following == [("(", True), (")", True)]
            or (index and words[index - 1].text == "function")
        )
        if named and (
            word.text in ("vllm", "eval", *_STARTERS, *_STARTERS_OF_TWO)
            or _PYTHON.fullmatch(word.text)
        ):
            return f"it has a function with the name of a program ({word.text})"
    return ""


def _bare(text: str) -> str:
    return text.rpartition("/")[2]
