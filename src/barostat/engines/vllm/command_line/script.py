"""What an entrypoint script starts, where that can be read: as a command line of its own, without
the rest of the script.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from barostat.engines.vllm.command_line.arguments import CommandLine, parse
from barostat.engines.vllm.command_line.open_words import untold_words


def script_line(command: Sequence[str], env: Mapping[str, str] | None = None) -> CommandLine | None:
    """Return the engine's command line in `sh -c TEXT FILE ARGUMENTS`. None if the text starts no
    recognisable engine, or uses words that may be anything (an array, "$@" after `shift`).
    """
    line = parse(command, env)
    return line if line.started and not untold_words(line) else None


def as_command(line: CommandLine, variables: Mapping[str, str]) -> list[str]:
    """Return that line as a container's command, with these variables substituted; undefined
    references are kept.
    """
    words = [word.raw if word.missing else shlex.quote(word.text) for word in line.words]
    return [
        "sh",
        "-c",
        " ".join(
            [
                *(f"{name}={shlex.quote(value)}" for name, value in variables.items()),
                "exec vllm serve",
                *words,
            ]
        ),
    ]
