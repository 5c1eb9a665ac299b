"""Which lines of which files a change touches, and what those files said before, as git tells it.

Source: git-diff(1), unified format with no context (-U0).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from barostat.core.errors import InputError

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def changed_lines(ref: str, folder: Path) -> dict[Path, set[int]]:
    """Return, by file, the lines added since `ref`; all lines of a new or untracked file.

    An empty set means that every line is new; {0} means that lines were only removed.

    Errors: InputError if there is no repository or no such revision.
    """
    root, base = root_and_base(ref, folder)
    found: dict[Path, set[int]] = {}
    current: Path | None = None
    for line in _git(
        root,
        "diff",
        "-U0",
        "--no-color",
        "--no-ext-diff",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        base,
        "--",
    ).splitlines():
        if line.startswith("+++ "):
            name = line[4:].strip().strip('"')
            current = (root / name.removeprefix("b/")).resolve() if name != "/dev/null" else None
        elif current is not None and (hunk := _HUNK.match(line)) is not None:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(current, set()).update(range(first, first + count) or (0,))
    for name in _git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0"):
        if name:
            found[(root / name).resolve()] = set()
    return found


def texts_before(ref: str, folder: Path, files: Iterable[Path]) -> dict[Path, str]:
    """Return the text of the files at `ref`, for those that existed. Errors: as `changed_lines`."""
    root, base = root_and_base(ref, folder)
    found = {}
    for file in files:
        name = file.relative_to(root.resolve()).as_posix() if root.resolve() in file.parents else ""
        text = _git(root, "show", f"{base}:{name}", fallback="") if name else ""
        if text:
            found[file] = text
    return found


def root_and_base(ref: str, folder: Path) -> tuple[Path, str]:
    """The repository's root, and where HEAD has parted from `ref`."""
    if ref.startswith("-"):
        raise InputError("is no revision", f"--since {ref}")
    root = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
    return root, _git(root, "merge-base", ref, "HEAD", fallback=ref).strip()


def _git(folder: Path, *arguments: str, fallback: str | None = None) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "core.quotePath=false", *arguments],
            capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        raise InputError("git is not there", "--since") from None
    except subprocess.TimeoutExpired:
        raise InputError("git took longer than a minute", "--since") from None
    if done.returncode == 0:
        return done.stdout
    if fallback is not None:
        return fallback
    said = next(
        (line for line in done.stderr.splitlines() if line.strip()), "git failed"
    ).removeprefix("fatal: ")
    raise InputError(said[:200], "--since")
