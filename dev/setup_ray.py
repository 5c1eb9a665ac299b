"""A real Ray with Ray Serve, of PyPI, in an environment of its own in the cache (`make ray`; no root,
410 MB).

Prints the path of the environment as its last line.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.debian import once
from dev.pypi import environment
from dev.setup_vllm import cache_dir

VERSION = "2.60.0"
TARGET = cache_dir() / f"ray-{VERSION}"


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def _build() -> None:
    environment(TARGET, f"ray[serve]=={VERSION}")


def main() -> int:
    """Leave the environment behind."""
    once(TARGET, _build)
    print(TARGET)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
