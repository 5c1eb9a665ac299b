"""The words of a command line that may hold any argument: references where an argument, and not its
value, can stand.

    vllm serve $MODEL --port 1 --max-num-seqs $SEQS $MORE --$NAME 5
               model                          value open  open

Source: POSIX.1-2024, Shell Command Language (field splitting); Kubernetes core/v1 Container (args:
`$(NAME)` is one word).
"""

from __future__ import annotations

import re

from barostat.engines.vllm.command_line.arguments import CommandLine, GivenArgument
from barostat.engines.vllm.command_line.shell_extents import references
from barostat.engines.vllm.command_line.shell_words import Word

_NAME = r"\w*MODEL(?:_NAME|_ID|_PATH|_DIR)?"
_MODEL_REFERENCE = re.compile(rf"\"?\$(?:\{{?{_NAME}(?::?-[^}}\s]*)?\}}?|\({_NAME}\))\"?")


def open_words(line: CommandLine) -> list[Word]:
    """Return words with variables as written, because a variable's value can change and an edit
    must keep the reference.

    Excludes the model's name, if it has no shell that would split it, or is the first of several.
    """
    values = {id(word) for setting in line.occurrences for word in setting.words[1:2]}
    named = {id(setting.words[0]) for setting in line.occurrences if is_named(setting)}
    found = [word for word in line.words if id(word) not in values | named and _refers(word)]
    if line.model is None and "model" not in line.settings:
        is_model = (
            word for word in found if not word.shell or _MODEL_REFERENCE.fullmatch(word.raw)
        )
        model = next(is_model, None)
        return [word for word in found if word is not model]
    return found


def untold_words(line: CommandLine) -> list[Word]:
    """Return the open words whose variables are undefined. While there are any, no setting is known
    to be unset.
    """
    return [word for word in open_words(line) if word.missing or "$" in word.text]


def is_named(setting: GivenArgument) -> bool:
    """Return False if the argument's name is unknown: `--$NAME 5`."""
    return not references((setting.words[0].raw or setting.words[0].text).partition("=")[0])


def _refers(word: Word) -> bool:
    """True if a variable may make it an argument, or several; without a shell it stays one word,
    with the beginning that it has.
    """
    return (
        bool(references(word.raw))
        if word.shell
        else bool(word.missing) and word.text.startswith(("$", "-"))
    )
