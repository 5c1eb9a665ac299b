"""Which vLLM is to be measured: `VLLM=path`, else the one on PATH; the Python that it runs on and
its version.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ASK = "import importlib.metadata as m; print(m.version('vllm'))"
HOW = "python -m venv vllm && vllm/bin/pip install vllm, then VLLM=vllm/bin/vllm make gpu"


@dataclass(frozen=True, slots=True)
class Vllm:
    """A vLLM that is installed."""

    program: Path
    python: Path
    version: str

    @property
    def folder(self) -> Path:
        """The environment that holds it."""
        return self.program.parent.parent


def find() -> Vllm | str:
    """The one that is meant; a sentence that says what to do where none is."""
    stated = os.environ.get("VLLM", "")
    named = stated or shutil.which("vllm")
    if not named:
        return f"no vLLM is here: none on PATH, and VLLM=path is not said. To install one: {HOW}"
    program = Path(named).absolute()
    if program.is_dir():
        program /= "bin/vllm"
    if not os.access(program, os.X_OK):
        return f"VLLM={stated} is no program. To install one: {HOW}"
    return of_program(program)


def of_program(program: Path) -> Vllm | str:
    """What that program belongs to; a sentence where it cannot be told."""
    python = interpreter(program)
    if python is None:
        return (
            f"{program} does not say which Python runs it, and none stands beside it: it is "
            "not the vllm that pip installs"
        )
    try:
        done = subprocess.run(
            [python, "-c", ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{python} cannot be asked for vLLM's version: {error}"
    version = done.stdout.strip()
    return (
        Vllm(program, python, version)
        if version
        else f"{python} has no vLLM. To install one: {HOW}"
    )


def interpreter(program: Path) -> Path | None:
    """The Python in the program's first lines, else the one beside it."""
    with program.open("rb") as file:
        head = file.read(400).decode(errors="replace")
    first = head.splitlines()[0] if head else ""
    if (named := re.match(r"#!\s*(?:/usr/bin/env\s+)?(\S*python[\d.]*)\s*$", first)) is not None:
        found = shutil.which(named[1])
        return Path(found) if found else None
    # What pip and uv write where the path is too long for a first line: a shell that executes it.
    if (
        executed := re.search(r"exec'? +['\"]?(/[^'\"\n]*?python[\d.]*)['\"]? ", head)
    ) is not None and Path(executed[1]).exists():
        return Path(executed[1])
    return next(
        (beside for name in ("python", "python3") if (beside := program.with_name(name)).exists()),
        None,
    )
