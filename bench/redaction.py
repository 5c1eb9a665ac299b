"""Redacts a synthetic vLLM log and the corpora of secrets, beside detect-secrets in the same run.

    python bench/redaction.py [--megabytes 10] [--detect-secrets PATH]

The peer is the `detect-secrets` command (pip install detect-secrets, in an environment of its own).
It only finds lines, it does not rewrite them; a form counts as found if it flags one of its lines.
Times are CPU seconds, of child processes too. Budget: 10 MB of blank or one-letter lines in 2 s.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.logs import synthetic  # noqa: E402
from tests.support.secret_corpus import forms, issuers, leaked  # noqa: E402

from barostat.io.redaction.text import log_lines  # noqa: E402

CORPUS = (
    *(form for name in "abcd" for form in forms(f"forms_{name}")),
    *(form for name in "ab" for form in issuers(f"issuers_{name}")),
)


def redact_s(lines: list[str]) -> float:
    """Return the CPU seconds that redacting these lines takes."""
    began = time.process_time()
    for _ in log_lines(lines):
        pass
    return time.process_time() - began


def peer_scan(command: str, lines: Iterable[str]) -> tuple[float, set[int]]:
    """Return the CPU seconds of a scan by the peer, and the numbers of the lines it flags."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "engine.log").write_text("\n".join(lines))
        measured = (
            "import resource, subprocess, sys; "
            "print(subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout); "
            "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
            "print(used.ru_utime + used.ru_stime)"
        )
        scan = [command, "scan", "--no-verify", "--all-files", "engine.log"]
        said = subprocess.run(
            [sys.executable, "-c", measured, *scan],
            check=True,
            capture_output=True,
            text=True,
            cwd=folder,
        ).stdout
    report, _, seconds = said.rstrip().rpartition("\n")
    results = json.loads(report)["results"]
    flagged = {int(entry["line_number"]) for found in results.values() for entry in found}
    return float(seconds), flagged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--detect-secrets", default=shutil.which("detect-secrets"))
    options = parser.parse_args()
    ordinary = list(synthetic(options.megabytes))
    ours_s = redact_s(ordinary)
    print(f"ordinary log, {options.megabytes} MB: {ours_s:.2f} s")
    for name, line in (("blank", ""), ("one-letter", "x")):
        lines = [line] * (options.megabytes * 1_000_000 // (len(line) + 1))
        print(f"{name} lines, {options.megabytes} MB: {redact_s(lines):.2f} s")
    through = sum(leaked(form, "\n".join(log_lines(form.text.split("\n")))) for form in CORPUS)
    print(f"forms of secrets: {len(CORPUS) - through} of {len(CORPUS)} redacted")
    if options.detect_secrets is None:
        print("detect-secrets: not installed, not compared")
        return
    theirs_s, _ = peer_scan(options.detect_secrets, ordinary)
    print(f"detect-secrets, the same log: {theirs_s:.2f} s, {theirs_s / ours_s:.1f} times ours")
    texts = [form.text.split("\n") for form in CORPUS]
    _, flagged = peer_scan(options.detect_secrets, (line for text in texts for line in text))
    ends = accumulate(map(len, texts), initial=0)
    found = sum(any(start < line <= end for line in flagged) for start, end in pairwise(ends))
    print(f"detect-secrets, the same forms: {found} of {len(CORPUS)} found")


if __name__ == "__main__":
    main()
