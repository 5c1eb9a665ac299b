"""`barostat example`: small samples to try every command on, without an engine, a GPU or a
cluster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EPILOG = """\
examples:
  barostat example all                         # all files, to this folder; the commands of the guide use them
  barostat example trace -o requests.jsonl
  barostat example bundle -o incident.tar.gz ; barostat diagnose --bundle incident.tar.gz
  barostat example manifest | barostat check -
"""

_WORKLOAD = "bursty:rate=2,minutes=5,input=600,output=250"
_SEED = 7


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "example",
        help="write sample files to try the verbs on: a trace, a bundle, a manifest, limits, a log",
        description="Write a small sample: "
        + "; ".join(f"{kind}: {told}" for kind, (_, told, _) in SAMPLES.items())
        + ".",
        epilog=EPILOG,
    )
    parser.add_argument(
        "kind",
        choices=(*SAMPLES, "all"),
        metavar="KIND",
        help=f"{', '.join(SAMPLES)}; all: every one, as files",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write, or folder with `all` (default: standard output, or this folder)",
    )
    parser.set_defaults(run=run)


def trace() -> bytes:
    """Five minutes of bursty requests as rows of ours, always the same."""
    import json

    from barostat.twin.workload.made import make, parse_spec

    rows = make(parse_spec(_WORKLOAD), _SEED)
    lines = (
        json.dumps(
            {
                "arrival_s": round(row.arrival_s, 3),
                "input_tokens": row.input_tokens,
                "output_tokens": row.output_tokens,
            }
        )
        for row in rows
    )
    return ("\n".join(lines) + "\n").encode()


def limits() -> bytes:
    """The limits that a plan derives from the sample trace."""
    import contextlib
    import io
    import tempfile

    from barostat.shells.cli.main import main

    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()) as written,
    ):
        rows = Path(folder) / "requests.jsonl"
        rows.write_bytes(trace())
        main(
            [
                "plan",
                "--model",
                "Qwen/Qwen3-8B",
                "--gpu",
                "L40S",
                "--max-model-len",
                "32768",
                "--trace",
                str(rows),
                "-o",
                "limits",
            ]
        )
    return written.getvalue().encode()


def tight() -> bytes:
    """Return the same limits with a stream limit of 30 seconds, as input for `limits diff`."""
    import re

    return re.sub(rb"maxStreamSeconds: .*", b"maxStreamSeconds: 30.0", limits())


def _packaged(name: str) -> Callable[[], bytes]:
    def read() -> bytes:
        from importlib import resources

        return (resources.files("barostat.shells.examples") / name).read_bytes()

    return read


SAMPLES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "trace": ("requests.jsonl", "five minutes of bursty requests", trace),
    "bundle": (
        "incident.tar.gz",
        "a recording of a vLLM that preempts",
        _packaged("incident.tar.gz"),
    ),
    "manifest": ("vllm.yaml", "a Deployment that starts and has no limits", _packaged("vllm.yaml")),
    "limits": ("limits.yaml", "the limits that the trace asks for", limits),
    "log": ("vllm.log", "the log of a vLLM that never came up", _packaged("vllm.log")),
}
"""Each sample: the name that the guide gives its file, what it is, and its content."""

BESIDE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "deploy/vllm.yaml": ("the same Deployment, in a folder of manifests", _packaged("vllm.yaml")),
    "tight.yaml": ("limits that are tighter, to compare", tight),
}
"""What `all` writes besides, by name: commands of the guide read a folder, and two limits files."""


def run(arguments: argparse.Namespace) -> int:
    """Write the sample, or all of them; answer 0."""
    if arguments.kind == "all":
        return _all(Path(arguments.output or "."))
    name, _, content = SAMPLES[arguments.kind]
    if arguments.output is not None:
        _written(Path(arguments.output), content())
    elif sys.stdout.isatty() and name.endswith(".gz"):
        from barostat.core.errors import InputError

        raise InputError(
            f"is no text for a terminal: barostat example {arguments.kind} -o {name}",
            f"example {arguments.kind}",
        )
    else:
        _printed(content())
    return 0


def _printed(content: bytes) -> None:
    """The content is on standard output, byte for byte where that takes bytes."""
    sys.stdout.flush()
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(content.decode())
    else:
        raw.write(content)


def _all(folder: Path) -> int:
    """Write every sample under its name; existing files are kept and reported. The folder is
    created if its parent exists.

    Errors: InputError if the folder is not writable.
    """
    if not folder.exists() and folder.parent.is_dir():
        folder.mkdir()
    for name, told, content in (
        *SAMPLES.values(),
        *((name, *sample) for name, sample in BESIDE.items()),
    ):
        path = folder / name
        if path.exists():
            print(f"barostat: {path} is there already, and is left as it is", file=sys.stderr)
            continue
        _written(path, content(), within=folder)
        print(f"{path}: {told}")
    return 0


def _written(path: Path, content: bytes, within: Path | None = None) -> None:
    """Write it; a folder of its own is made where it is missing `within` one that is there."""
    from barostat.core.errors import InputError

    try:
        if within is not None and within.is_dir():
            path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", str(path)) from None
