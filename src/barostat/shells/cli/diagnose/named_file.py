"""Recordings given as targets: `barostat diagnose incident.tar.gz`, `./vllm.log`, a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from barostat.core.errors import InputError
from barostat.io.engine_http.address import NO_MATCH, is_pattern
from barostat.io.input_files.piped import STDIN
from barostat.shells.cli.diagnose.other_files import other_verb

RECORDINGS = (".tar.gz", ".tgz", ".tar", ".log", ".txt")
"""Words with these endings are files, even if they do not exist: no host has such a name."""
_IN_BUNDLES = (".prom", ".csv", ".json", ".yaml", ".yml")


def ends_as_recording(word: str) -> bool:
    """True for a word that ends like a bundle or a log and is no URL."""
    return "://" not in word and word.lower().endswith(RECORDINGS)


def take_named_files(arguments: argparse.Namespace) -> None:
    """Move targets that are files or folders to `--bundle`, to `--log` (a log or `-`), or, in
    addition to these, to `arguments.files`; other targets are unchanged.

    Errors: InputError for a file that another verb reads, for a file with several engines, and for
    a pattern that matches no file.
    """
    arguments.files = []
    if (arguments.pid, arguments.prometheus) != (None, None):
        return
    for word in arguments.target:
        if is_pattern(word):
            raise InputError(NO_MATCH, word)
    given = [word for word in arguments.target if is_file_word(word)]
    engines = [word for word in arguments.target if word not in given]
    for word in given:
        if told := "" if word == STDIN else other_verb(Path(word)):
            raise InputError(told, word)
        is_log = word == STDIN or not _is_bundle(Path(word))
        if engines and not is_log:
            raise InputError(
                "is a recording, and the other target is a running engine: diagnose them "
                "separately",
                word,
            )
        if is_log and arguments.log is None:
            arguments.log = word
        elif arguments.bundle is None and not is_log:
            arguments.bundle = word
        else:
            arguments.files.append(word)
    arguments.target = engines


def is_file_word(word: str) -> bool:
    """True for `-` and for words that can only mean a file or a folder."""
    return (
        word == STDIN or ends_as_recording(word) or word.startswith((".", "/")) or _is_there(word)
    )


def recorded_files(arguments: argparse.Namespace) -> list[Path]:
    """Return the recording and its additional files, the recording first; empty for a single log
    and for a running engine.
    """
    named = [arguments.bundle, arguments.describe, *arguments.files]
    if not any(named):
        return []
    return [Path(one) for one in (*named, arguments.log) if one is not None]


def take_printed_log(arguments: argparse.Namespace) -> None:
    """Move a `--log` that is kubectl or nvidia-smi output to `--bundle`, unless there are other
    files.

    Errors: InputError for the table of kubectl get.
    """
    from barostat.io.bundles.printed import HEAD_BYTES, printed

    if arguments.log is None or arguments.target or arguments.pid is not None or arguments.watch:
        return
    if arguments.describe is not None or arguments.files:
        return
    if arguments.bundle is not None or getattr(arguments, "prometheus", None) is not None:
        return
    try:
        with Path(arguments.log).open("rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return  # the reader of the log reports it
    if printed(head, getattr(arguments, "log_name", "") or arguments.log):
        arguments.bundle, arguments.log = arguments.log, None


def _is_there(word: str) -> bool:
    """True if such a file or folder exists and the word is no plausible address or workload (no
    Deployment is named vllm.yaml).
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
    """True for a folder, an archive, a single file of a bundle other than a log, and a missing file
    without a log's ending.
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
