"""Runs inside the environment of the real vLLM: its own argument parser.

Reads a JSON list of argument lists on stdin; writes one JSON line per list: the settings as parsed,
or {"refused": true}. With a first argument `names`: one JSON line with every name of the parser,
its option strings, and whether it is a switch; with `defaults`: one with the default of each.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser


def main() -> None:
    """Answer on stdout."""
    parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    if sys.argv[1:] == ["names"]:
        print(
            json.dumps(
                [
                    [action.dest, action.option_strings, action.nargs == 0]
                    for action in parser._actions
                ]
            )
        )
        return
    if sys.argv[1:] == ["defaults"]:
        plain = int | float | str | None
        print(
            json.dumps(
                {
                    action.dest: action.default
                    for action in parser._actions
                    if isinstance(action.default, plain)
                }
            )
        )
        return
    for args in json.load(sys.stdin):
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                found = {
                    name: value
                    for name, value in vars(parser.parse_args(args)).items()
                    if isinstance(value, int | float | str | list)
                }
            except (SystemExit, ValueError):
                found = {"refused": True}
        print(json.dumps(found, default=str))


main()
