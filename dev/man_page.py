"""barostat(1), made from the help of the command line itself: what `--help` says, in the form that
`man` reads.
"""

from __future__ import annotations

import argparse

from barostat import __version__
from barostat.shells.cli.main import EPILOG, parser

CODES = (
    ("0", "asked, answered, nothing to do"),
    ("1", "findings: a cause was named, it does not fit, a change was taken back"),
    ("2", "usage, or a bad file: one sentence says what, where and what to do"),
    ("3", "cannot tell"),
    ("4", "the outside failed: unreachable, not vLLM, no space left"),
    ("5", "refused"),
    ("70", "our bug"),
    ("130", "interrupted"),
    ("141", "nobody read the output"),
)


def man_page() -> str:
    """The page, in roff's man macros."""
    top = parser()
    verbs = next(
        action for action in top._actions if isinstance(action, argparse._SubParsersAction)
    )
    lines = [
        f'.TH BAROSTAT 1 "" "barostat {__version__}" "User Commands"',
        '.\\" Made by `make docs` from the code. Do not edit.',
        ".SH NAME",
        f"barostat \\- {_text(top.description or '').rstrip('.')}",
        ".SH SYNOPSIS",
        ".B barostat",
        ".I VERB",
        "[TARGET] [OPTIONS]",
        ".SH VERBS",
    ]
    for choice in verbs._choices_actions:
        lines += [".TP", f".B {_text(choice.dest)}", _text(choice.help or "")]
    for name, sub in verbs.choices.items():
        lines += [f'.SH "BAROSTAT {_text(name.upper())}"', *_sections(sub)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in CODES:
        lines += [".TP", f".B {code}", _text(meaning)]
    lines += [
        ".SH ENVIRONMENT",
        ".TP", ".B NO_COLOR", "plain text",
        ".TP", ".B KUBECONFIG", "the kubeconfig, as kubectl reads it",
        ".TP", ".B BAROSTAT_TRACEBACK", "where barostat itself fails, the traceback instead of a sentence",
        ".SH EXAMPLES", *_verbatim(EPILOG.partition("\n")[2].partition("\nexit codes")[0]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _sections(sub: argparse.ArgumentParser) -> list[str]:
    lines = [_text(sub.description or "")]
    for action in sub._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                lines += [".TP", f".B {_text(choice.dest)}", _text(choice.help or "")]
        elif action.help != argparse.SUPPRESS:
            value = (
                ""
                if action.nargs == 0
                else _text(
                    str(
                        action.metavar
                        or "|".join(map(str, action.choices or ()))
                        or action.dest.upper()
                    )
                )
            )
            names = ", ".join(f"\\fB{_text(name)}\\fR" for name in action.option_strings)
            lines += [
                ".TP",
                f"{names} \\fI{value}\\fR".strip(),
                _text((action.help or "as vLLM has it").replace("%%", "%")),
            ]
    return [*lines, ".PP", *_verbatim(sub.epilog or "")]


def _verbatim(text: str) -> list[str]:
    return [".nf", *(_text(line) for line in text.strip().splitlines()), ".fi"]


def _text(line: str) -> str:
    """The line as roff prints it as it is: backslashes, hyphens, and no control line by
    accident.
    """
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
