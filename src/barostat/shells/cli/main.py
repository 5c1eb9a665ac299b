"""The command line: verbs, exit codes, and one clear sentence for everything that can go wrong.

Only argparse is imported here; a verb is loaded when it is named, and its own imports happen when
it runs, so that `--help` and small runs answer at once.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from barostat.core.errors import InputError, OutsideError
from barostat.core.release import __version__
from barostat.shells.cli.closed_output import let_go, print_or_let_go
from barostat.shells.cli.everywhere import add_flags, heeded
from barostat.shells.cli.gated_streams import gated

VERBS = {
    "diagnose": "diagnose",
    "collect": "diagnose",
    "explain": "diagnose",
    "survey": "diagnose",
    "top": "diagnose",
    "report": "diagnose",
    "plan": "capacity",
    "limits": "capacity",
    "check": "check",
    "simulate": "simulate",
    "what-if": "simulate",
    "tune": "simulate",
    "twin": "simulate",
    "gateway": "prevent",
    "rules": "prevent",
    "load": "prevent",
    "validate": "prevent",
    "mitigate": "mitigate",
    "verify": "mitigate",
    "rollback": "mitigate",
    "incident": "mitigate",
    "operator": "mitigate",
    "example": "about",
    "config": "about",
    "help": "about",
    "version": "about",
    "completion": "about",
    "mcp": "about",
}
"""Each verb and the room that it is in: `shells/cli/ROOM/VERB.py`."""

_NO_SUCH_PATH = (
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.EACCES,
    errno.EPERM,
    errno.EINVAL,
)
_SHOWN_CHARS = 200
_MOST_FLAGS = 1_000
_UNKNOWN = "unrecognized arguments: "

OK, FINDINGS, USAGE, CANNOT_TELL, OUTSIDE, REFUSED, BUG, INTERRUPTED, UNREAD = (
    0,
    1,
    2,
    3,
    4,
    5,
    70,
    130,
    141,
)

EPILOG = """\
examples:
  barostat diagnose http://localhost:8000              # one engine: the cause and the next steps, in 30 seconds
  barostat diagnose deploy/vllm -n inference           # every replica of a workload
  barostat diagnose --bundle incident.tar.gz           # a recorded bundle
  kubectl logs --previous deploy/vllm | barostat diagnose --log -   # why it restarted
  barostat top deploy/vllm -n inference                # live view, one row per replica
  barostat report --prometheus http://prometheus:9090 --from 02:00 --to 04:00   # post-mortem of last night
  barostat collect http://localhost:8000 --out b.tar.gz   # record a redacted bundle
  barostat explain kv-preemption-thrash                # what a cause means
  barostat mitigate deploy/vllm -n inference --dry-run   # the change that would relieve it; writes nothing
  barostat operator -A                                 # watch every vLLM of the cluster and report incidents
  barostat plan --gpu H100 -- vllm serve meta-llama/Llama-3.1-8B-Instruct   # how much fits, and the limits that follow
  barostat plan Qwen/Qwen3-8B --compare 4xH100,2xMI300X --price H100=2.5,MI300X=2.2   # compare cards and their cost
  barostat check deploy/                               # check manifests before merging
  barostat rules --limits limits.yaml > vllm.rules.yaml   # alert rules for Prometheus
  barostat limits diff old.yaml new.yaml               # what a change of limits means
  barostat simulate --trace requests.jsonl --kv-blocks 4096 --step-time 0.03   # recorded traffic on the simulated scheduler
  barostat what-if --from http://localhost:8000 --set load=2   # this engine with twice the traffic
  barostat tune --from http://localhost:8000 --slo-ttft-p99 2   # the best settings for an SLO

Python and notebooks: from barostat import diagnose, plan, simulate (a notebook shows each result as its HTML page)
Manual page: man barostat (installed by pipx). Tab completion: source <(barostat completion bash)
CI: use -o json, junit, sarif or github, --quiet, and the exit code. Defaults for every command: barostat config --help

exit codes: 0 nothing wrong; 1 findings; 2 usage error or invalid file; 3 inconclusive; 4 an external system failed; 5 refused;
70 a bug in Barostat; 141 the reader of the output went away
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Examples as they are written, line for line; prose as wide as the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        import textwrap  # only where help is asked for

        return textwrap.fill(
            text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence; the usage is a --help away."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Help is laid out alike in every verb."""
        super().__init__(*args, **options)
        self.formatter_class = _Help

    def error(self, message: str) -> NoReturn:
        named: argparse.ArgumentParser = self
        if message.startswith(_UNKNOWN):
            named = _only_verb(self)
            message += _meant(message.removeprefix(_UNKNOWN), named)
        message += _choices(message, self)
        self.exit(
            USAGE, f"{named.prog}: {_without_secrets(message)} ({named.prog} --help shows how)\n"
        )


def _without_secrets(message: str) -> str:
    from barostat.core.redaction.credentials import (
        clean,
    )  # only where something failed: it costs a start some milliseconds

    return clean(message)


def _choices(message: str, parser: argparse.ArgumentParser) -> str:
    """What a missing word may be, as the end of a sentence, where it is one of a few that its name
    does not tell.
    """
    missing = message.partition("arguments are required: ")[2].split(", ")
    found = next(
        (
            action
            for action in parser._actions
            if action.metavar == missing[0].upper() == missing[0] and action.choices
        ),
        None,
    )
    return (
        f" ({', '.join(map(str, found.choices))})"
        if found is not None and found.choices is not None
        else ""
    )


def _only_verb(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser of the verb, where there is but one: argparse tells the outermost what none of the
    inner ones knows.
    """
    found = _inner(parser)
    return found[0] if len(found) == 1 else parser


def _inner(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    return [
        one
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for one in action.choices.values()
    ]


def _meant(words: str, parser: argparse.ArgumentParser) -> str:
    """The flags that the unknown ones are close to, as the end of a sentence; empty if there are
    none.
    """
    import difflib

    flags = [
        flag
        for one in (parser, *_inner(parser))
        for action in one._actions
        for flag in action.option_strings
    ]
    given = [word.partition("=")[0] for word in words.split() if word.startswith("--")]
    if "--json" in given and "--output" in flags:
        return "; did you mean -o json?"
    close = [
        found[0]
        for word in given
        if (found := difflib.get_close_matches(word, flags, n=1, cutoff=0.7))
    ]
    return f"; did you mean {' and '.join(dict.fromkeys(close))}?" if close else ""


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The argument parser with every verb, or with the one that is asked for."""
    top = _Parser(
        prog="barostat",
        description=(
            "Find out why a vLLM is slow or down, fix it, and keep its KV cache from collapsing."
        ),
        epilog=EPILOG,
    )
    top.add_argument("--version", action="version", version=f"barostat {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS if only is None else (only,):
        module = f"{VERBS[verb]}.{verb.replace('-', '_')}"
        importlib.import_module(f"barostat.shells.cli.{module}").add_parser(verbs)
    add_flags(top)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code. Never raises but for argparse's own SystemExit
    (status 2, or 0 for --help).
    """
    _never_without_streams()
    with gated():
        try:
            return _main(sys.argv[1:] if argv is None else argv)
        except SystemExit as end:
            if not end.code and (unwritten := _flushed(OK)):
                raise SystemExit(unwritten) from None
            raise


def _main(words: Sequence[str]) -> int:
    verb = next((word for word in words if not word.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        return _say(_too_early(words) or _no_verb(verb), USAGE)
    try:
        _check_flags(words)
        top = parser(verb)
        arguments = top.parse_args(_configured(words, verb, top))
        with heeded(arguments):
            code: int = arguments.run(arguments)
    except BrokenPipeError:
        code = UNREAD
    except OSError as error:
        code = _failed(error)
    except InputError as error:
        return _say(str(error), USAGE)
    except OutsideError as error:
        return _say(f"{error}{'; trying again may help' if error.retryable else ''}", OUTSIDE)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except ModuleNotFoundError as error:
        from barostat.shells.cli.extras import missing_extra

        needed = missing_extra(verb, error.name)
        return _say(needed, USAGE) if needed else _bug(error)
    except Exception as error:
        return _bug(error)
    return _flushed(code)


def _check_flags(words: Sequence[str]) -> None:
    """Nothing, where they are not too many for argparse, which looks through all of them for each.

    Errors: InputError.
    """
    ours = words[: words.index("--")] if "--" in words else words
    flags = sum(word.startswith("-") for word in ours)
    if flags > _MOST_FLAGS:
        raise InputError(
            f"{flags:,} flags are more than any verb has; at most {_MOST_FLAGS:,} are read"
        )


def _configured(
    words: Sequence[str], verb: str | None, top: argparse.ArgumentParser
) -> Sequence[str]:
    """The words with what files and the environment add.

    Errors: InputError for a configuration that says what no verb can do.
    """
    if verb is None or VERBS[verb] == "about" or "--help" in words or "-h" in words:
        return words
    from barostat.shells.cli.configured import with_settings

    return with_settings(words, verb, top)


def _too_early(words: Sequence[str]) -> str:
    """Return the message for a flag with its value before the verb; empty if no verb follows."""
    place = next((place for place, word in enumerate(words) if word in VERBS), 0)
    if not place or not words[0].startswith("-"):
        return ""
    moved = shlex.join([words[place], *words[:place], *words[place + 1 :]])
    return f"a verb's flags come after it: barostat {_shortened(moved)}"


def _no_verb(word: str) -> str:
    import difflib

    close = difflib.get_close_matches(word, VERBS, n=2, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(close)}"
        if close
        else f"a target comes after a verb: barostat diagnose {word}"
    )
    return f"no verb is called {word!r}; {hint}? (barostat --help lists them)"


def _never_without_streams() -> None:
    """Redirect output to nowhere if a stream was closed at start."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w")
    sys.stderr = sys.stderr or nowhere.open("w")


def _flushed(code: int) -> int:
    """The code, once everything is written; what nobody reads is let go."""
    try:
        if failed := getattr(sys.stdout, "failed", None):
            raise failed
        sys.stdout.flush()
    except OSError as error:
        let_go(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            return _full(error)
    return code


def _failed(error: OSError) -> int:
    """The code for what the machine refused: a path that cannot be is the caller's, a full disk the
    outside's, the rest is ours.
    """
    if error.errno == errno.ENOSPC:
        if getattr(sys.stdout, "failed", None) is error:
            return OUTSIDE  # said when the rest is flushed
        let_go(sys.stdout)
        return _full(error)
    if error.errno in _NO_SUCH_PATH and error.filename is not None:
        return _say(f"{_shortened(str(error.filename))}: {error.strerror}", USAGE)
    return _bug(error)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}… ({len(text)} characters)"


def _full(error: OSError) -> int:
    return _say(f"the output could not be written: {error.strerror}", OUTSIDE)


def _bug(error: Exception) -> int:
    if os.environ.get("BAROSTAT_TRACEBACK"):
        raise error
    return _say(
        f"this is a bug in barostat {__version__} ({type(error).__name__}: {error}); run "
        "again with BAROSTAT_TRACEBACK=1 and report it",
        BUG,
    )


def _say(text: str, code: int) -> int:
    print_or_let_go(f"barostat: {_without_secrets(text)}", sys.stderr)
    return code


def run() -> None:
    """Entry point of the `barostat` script."""
    sys.exit(main())


if __name__ == "__main__":
    run()
