"""A recording that is named as a target, as a hand types it: `barostat diagnose incident.tar.gz`,
`./vllm.log`, a folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from barostat.core.errors import InputError
from barostat.io.input_files.piped import STDIN
from barostat.shells.cli.diagnose.other_files import other_verb

RECORDINGS = (".tar.gz", ".tgz", ".tar", ".log", ".txt")
"""Names that end so are files, whether they are there or not: no host is called that."""
_IN_BUNDLES = (".prom", ".csv", ".json", ".yaml", ".yml")


def ends_as_recording(word: str) -> bool:
    """True for a name that ends as bundles and logs do, and is no URL."""
    return "://" not in word and word.lower().endswith(RECORDINGS)


def take_named_file(arguments: argparse.Namespace) -> None:
    """A lone target that is a file or a folder becomes `--bundle` or, if it is a log or `-`,
    `--log`; all else is left as it is.

    Errors: InputError for a file that another verb reads.
    """
    given = arguments.target
    if (
        len(given) != 1
        or (arguments.bundle, arguments.log, arguments.pid, arguments.prometheus) != (None,) * 4
    ):
        return
    word = given[0]
    if word == STDIN:
        arguments.target, arguments.log = [], word
        return
    if not (ends_as_recording(word) or word.startswith((".", "/")) or _is_there(word)):
        return
    if told := other_verb(Path(word)):
        raise InputError(told, word)
    arguments.target = []
    if _is_bundle(Path(word)):
        arguments.bundle = word
    else:
        arguments.log = word


def take_printed_log(arguments: argparse.Namespace) -> None:
    """A `--log` that is no log but what kubectl or nvidia-smi printed becomes `--bundle`, where
    nothing stands beside it.

    Errors: InputError for the table of kubectl get.
    """
    from barostat.io.bundles.printed import HEAD_BYTES, printed

    if arguments.log is None or arguments.target or arguments.pid is not None or arguments.watch:
        return
    if arguments.bundle is not None or getattr(arguments, "prometheus", None) is not None:
        return
    try:
        with Path(arguments.log).open("rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return  # who reads the log says why
    if printed(head, getattr(arguments, "log_name", "") or arguments.log):
        arguments.bundle, arguments.log = arguments.log, None


def _is_there(word: str) -> bool:
    """True for a file or folder of that name which could not be meant as an address or a workload:
    nobody calls a Deployment vllm.yaml.
    """
    from barostat.io.kubernetes.recording.target import is_workload

    try:
        could_be_meant = "://" not in word and (
            not is_workload(word) or word.lower().endswith(_IN_BUNDLES)
        )
        return could_be_meant and not word.removeprefix(":").isdecimal() and Path(word).exists()
    except OSError:
        return False


def _is_bundle(path: Path) -> bool:
    """True for a folder, an archive, a loose file of a bundle that is no log, and for what is not
    there, unless its name says log.
    """
    from barostat.io.bundles.archive import Truncated, is_archive

    if path.name.lower().endswith(_IN_BUNDLES) or path.is_dir():
        return True
    try:
        if not path.exists():
            return not path.name.lower().endswith((".log", ".txt"))
        return path.is_file() and is_archive(path)
    except (OSError, Truncated):
        return False
