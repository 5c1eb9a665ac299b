"""Environments of PyPI's packages, each apart from the project's own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def environment(folder: Path, *requirements: str, override: Path | None = None) -> None:
    """Make an environment with these requirements, in place of what is there. `override`: a file of
    requirements that replace those of the packages.
    """
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    instead = ["--override", str(override)] if override is not None else []
    python = str(folder / "bin" / "python")
    install = [uv, "pip", "install", "--quiet", *instead, "--python", python, *requirements]
    subprocess.run(install, check=True)
