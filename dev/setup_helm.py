"""The Helm library of PyPI's wheel `helm-python-sdk`, unpacked into the cache (`make helm`; 75 MB).

Prints the folder to put on PYTHONPATH as its last line.
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

VERSION = "0.2.2"
TARGET = cache_dir() / f"helm-{VERSION}"


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def _build() -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"helm-python-sdk=={VERSION}"
        subprocess.run([*pip, "--no-deps", "--dest", folder, wanted], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(TARGET)


def main() -> int:
    """Leave the library behind."""
    once(TARGET, _build)
    print(TARGET)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
