"""What the load generator is measured beside: guidellm in an environment of its own, in the cache
(`make vllm load-peers`; no root).

The other peer, `vllm bench serve`, comes with the engine. guidellm imports torch to read a
tokenizer: it finds the engine's, which spares gigabytes of another one.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.debian import once
from dev.engine import ENVIRONMENT
from dev.pypi import environment
from dev.setup_vllm import cache_dir

TARGET = cache_dir() / "load-peers"
WANTED = ("guidellm==0.8.1",)


def program() -> Path | None:
    """guidellm's command, None where this has not been run here."""
    found = TARGET / "guidellm" / "bin" / "guidellm"
    return found if (TARGET / "READY").exists() and found.exists() else None


def _build() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    without = TARGET / "without.txt"
    without.write_text("torch; python_version < '3'\n")
    environment(TARGET / "guidellm", *WANTED, override=without)
    (packages,) = (TARGET / "guidellm" / "lib").glob("python*/site-packages")
    (engines,) = (ENVIRONMENT.resolve() / "lib").glob("python*/site-packages")
    (packages / "zz_engine.pth").write_text(f"{engines}\n")


def main() -> int:
    """Leave it behind."""
    once(TARGET, _build)
    print(TARGET)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
