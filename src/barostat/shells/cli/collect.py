"""`barostat collect`: record what a vLLM shows, redacted, to be diagnosed elsewhere or later."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import brief, seconds

if TYPE_CHECKING:
    from barostat.io.record import Sources
    from barostat.judge.recording import Recording

EPILOG = """\
examples:
  barostat collect http://localhost:8000 --out incident.tar.gz
  barostat collect http://a:8000 http://b:8000 --for 2m --interval 10s --out incident/
  barostat collect http://localhost:8000 --log vllm.log --pid 4711 --out incident.tar.gz
  barostat diagnose --bundle incident.tar.gz

Left out or blackened: prompts and answers, tokens, passwords and API keys, variables that are not known to be harmless, callers.

exit codes: 0 written, 2 usage or something is there already, 4 unreachable or not vLLM
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "collect",
        help="record a bundle, redacted, to be diagnosed elsewhere or later",
        description="Look at running vLLM engines for a while and write what they show as a bundle, without secrets and prompts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="*", metavar="TARGET", help="address of a vLLM server, such as http://localhost:8000")
    parser.add_argument("--for", dest="for_s", type=seconds, default=30.0, metavar="TIME", help="how long to look (default 30s)")
    parser.add_argument(
        "--interval", dest="interval_s", type=seconds, default=5.0, metavar="TIME", help="time between scrapes (default 5s)"
    )
    parser.add_argument("--log", metavar="FILE", help="log of a local engine, also of one that never came up")
    parser.add_argument("--pid", type=int, metavar="N", help="process of a local engine: reads CPU per process, memory and limits")
    parser.add_argument("--probe", action="store_true", help="may send one request of one token, to tell a hung engine from an idle one")
    parser.add_argument("--out", required=True, metavar="PATH", help="where to write it: NAME.tar.gz, or a directory")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Gather, write, and say what was written and what was left out."""
    from barostat.core.errors import InputError
    from barostat.io import bundle_writer

    if not arguments.target and arguments.log is None and arguments.pid is None:
        raise InputError("nothing to look at: give a URL such as http://localhost:8000, or a --log FILE")
    if len(arguments.target) > 1 and (arguments.log is not None or arguments.pid is not None):
        raise InputError("--log and --pid belong to one engine: give one URL with them")
    out = Path(arguments.out)
    bundle_writer.check(out, force=arguments.force)
    recording = gather(arguments)
    logs = bundle_writer.Logs(current={recording.replicas[0].name: Path(arguments.log)} if arguments.log is not None else {})
    counts = bundle_writer.write(recording, out, logs, force=arguments.force)
    for problem in recording.problems:
        print(f"note: {problem}", file=sys.stderr)
    held = ", ".join(f"{count} {kind.removesuffix('s') if count == 1 else kind}" for kind, count in counts.items() if kind != "bundle.yaml")
    print(f"wrote {out}: {held or 'no readings'}", file=sys.stderr)
    print("left out: prompts and answers, credentials, variables that are not known to be harmless, callers", file=sys.stderr)
    print(f"next: barostat diagnose --bundle {out}", file=sys.stderr)
    return 0


def gather(arguments: argparse.Namespace) -> Recording:
    """What the targets, the log and the process show within `--for`, with progress on stderr where that is a terminal."""
    from barostat.io.record import record

    _check(arguments)
    shown = sys.stderr.isatty()
    if shown and arguments.target and arguments.for_s > 0:
        print(f"looking for {brief(arguments.for_s)}, every {brief(arguments.interval_s)} (Ctrl-C ends it early)", file=sys.stderr)

    def tell(progress: str) -> None:
        if shown:
            print(f"\r\x1b[K{progress}", end="", file=sys.stderr, flush=True)

    try:
        return record(_sources(arguments), arguments.for_s, arguments.interval_s, on_progress=tell)
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def gather_forever(arguments: argparse.Namespace) -> Iterator[Recording]:
    """A recording after every `--interval`, over the last `--for`."""
    from barostat.io.record import follow

    _check(arguments)
    return follow(_sources(arguments), arguments.for_s, arguments.interval_s)


def _check(arguments: argparse.Namespace) -> None:
    from barostat.core.errors import InputError

    if arguments.interval_s < 0.1:
        raise InputError("--interval must be at least 100ms")


def _sources(arguments: argparse.Namespace) -> Sources:
    from barostat.io.record import Sources

    log = Path(arguments.log) if arguments.log is not None else None
    return Sources(tuple(arguments.target), log, arguments.pid, getattr(arguments, "probe", False))
