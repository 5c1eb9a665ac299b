"""The command line: verbs, exit codes, and one clear sentence for everything that can go wrong.

Only argparse is imported here; a verb is loaded when it is named, and its own imports happen when it runs, so that `--help` and small
runs answer at once.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from barostat import __version__
from barostat.core.errors import InputError, OutsideError
from barostat.shells.cli.unread import let_go

VERBS = (
    "diagnose",
    "collect",
    "explain",
    "plan",
    "limits",
    "simulate",
    "what-if",
    "tune",
    "twin",
    "mitigate",
    "verify",
    "rollback",
    "incident",
)
OK, FINDINGS, USAGE, CANNOT_TELL, OUTSIDE, REFUSED, BUG, INTERRUPTED, UNREAD = 0, 1, 2, 3, 4, 5, 70, 130, 141

EPILOG = """\
examples:
  barostat diagnose http://localhost:8000              what is wrong with this vLLM, in half a minute
  barostat diagnose deploy/vllm -n inference           the same for a workload in a cluster
  barostat diagnose --bundle incident.tar.gz           the same for a recorded bundle
  barostat collect http://localhost:8000 --out b.tar.gz  record a bundle (redacted) to look at elsewhere
  barostat explain kv-preemption-thrash                what a cause or a symptom means
  barostat plan --gpu H100 -- vllm serve meta-llama/Llama-3.1-8B-Instruct   how much fits, and which limits follow
  barostat mitigate deploy/vllm -n inference --dry-run  what would be changed to end the pressure, checked and shown
  barostat limits diff old.yaml new.yaml               what a change of limits means
  barostat simulate --trace t.jsonl --kv-blocks 4096   the same traffic through vLLM's scheduler, without a GPU

exit codes: 0 nothing wrong, 1 findings, 2 usage or bad file, 3 cannot tell, 4 the outside failed, 5 refused, 70 our bug,
141 nobody read the output
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence; the usage is a --help away."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message} ({self.prog} --help shows how)\n")


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The argument parser with every verb, or with the one that is asked for."""
    top = _Parser(
        prog="barostat",
        description="Keeps vLLM out of KV-cache collapse: sees pressure, names its cause, says what to do.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"barostat {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS if only is None else (only,):
        module = verb.replace("-", "_")
        importlib.import_module(f"barostat.shells.cli.{module}").add_parser(verbs)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code. Never raises but for argparse's own SystemExit (status 2, or 0 for --help)."""
    _never_without_streams()
    words = sys.argv[1:] if argv is None else argv
    arguments = parser(words[0] if words and words[0] in VERBS else None).parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except BrokenPipeError:
        code = UNREAD
    except OSError as error:
        code = _full(error) if error.errno == errno.ENOSPC else _bug(error)
    except InputError as error:
        return _say(str(error), USAGE)
    except OutsideError as error:
        return _say(f"{error}{' (worth another try)' if error.retryable else ''}", OUTSIDE)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except Exception as error:
        return _bug(error)
    return _flushed(code)


def _never_without_streams() -> None:
    """What is told goes nowhere where a stream was closed from the start."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w")
    sys.stderr = sys.stderr or nowhere.open("w")


def _flushed(code: int) -> int:
    """The code, once everything is written; what nobody reads is let go."""
    try:
        sys.stdout.flush()
    except OSError as error:
        let_go()
        if not isinstance(error, BrokenPipeError):
            return _full(error)
    return code


def _full(error: OSError) -> int:
    return _say(f"the output could not be written: {error.strerror}", OUTSIDE)


def _bug(error: Exception) -> int:
    if os.environ.get("BAROSTAT_TRACEBACK"):
        raise error
    return _say(
        f"this is a bug in barostat {__version__} ({type(error).__name__}: {error}); run again with BAROSTAT_TRACEBACK=1 and report it",
        BUG,
    )


def _say(text: str, code: int) -> int:
    print(f"barostat: {text}", file=sys.stderr)
    return code


def run() -> None:
    """Entry point of the `barostat` script."""
    sys.exit(main())


if __name__ == "__main__":
    run()
