"""A file that is no recording, and the verb that reads it: what a hand names that goes from file to
file.
"""

from __future__ import annotations

from pathlib import Path

_OURS = "barostat.dev/"


def other_verb(path: Path) -> str:
    """Return what the file is and which verb reads it, as the end of a sentence; empty if it may be
    a log, or does not exist.
    """
    from barostat.io.bundles.printed import HEAD_BYTES, printed

    try:
        if not path.is_file():
            return ""
        with path.open("rb") as opened:
            text = opened.read(HEAD_BYTES).decode(
                "utf-8", "strict" if path.stat().st_size <= HEAD_BYTES else "replace"
            )
    except (OSError, UnicodeDecodeError):
        return ""
    if printed(text, str(path)):  # objects with their status: no manifest, but what was seen
        return ""
    ending = path.suffix.lower()
    if ending in (".yaml", ".yml"):
        if "kind: ServingLimits" in text:
            return (
                f"holds limits: barostat limits validate {path}; barostat check holds "
                "manifests to them"
            )
        return f"is YAML, no recording of an engine: barostat check {path} reads manifests"
    if ending == ".json" and (found := _of_json(text, path)):
        return found
    if ending in (".jsonl", ".csv", ".json") and _is_trace(path):
        return (
            "is a trace of requests, no recording of an engine: barostat simulate, what-if, "
            f"plan and load read it with --trace {path}"
        )
    return ""


def _of_json(text: str, path: Path) -> str:
    if '"apiVersion"' in text and _OURS in text:
        return "is a report that barostat wrote: give it the recording that the report is of"
    if '"architectures"' in text or '"model_type"' in text:
        return f"is a model's configuration: barostat plan --model-config {path}"
    return ""


def _is_trace(path: Path) -> bool:
    """True if its first row tells how many tokens go in and come out."""
    from barostat.core.errors import InputError
    from barostat.io.input_files.traces import parse_trace

    with path.open(encoding="utf-8", errors="replace") as opened:
        head = [line for _, line in zip(range(2), opened, strict=False)]
    try:
        return bool(parse_trace("".join(head), str(path))[0])
    except (InputError, ValueError):
        return False
