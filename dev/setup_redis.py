"""A real Redis, Debian's package, unpacked into the cache and not installed (`make redis`; no root,
5 MB).

Prints the path of the program as its last line. `start()` gives a server of its own to a test or a
benchmark.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.debian import libraries, once, unpack
from dev.setup_vllm import cache_dir

TARGET = cache_dir() / "redis-debian"
PROGRAM = TARGET / "usr" / "bin" / "redis-server"
PACKAGES = (
    "redis-server",
    "redis-tools",
    "liblzf1",
    "libjemalloc2",
    "libatomic1",
    "liblua5.1-0",
    "lua-cjson",
    "lua-bitop",
)


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def start(port: int, folder: Path) -> subprocess.Popen[bytes]:
    """A Redis on this port of 127.0.0.1 that keeps every write in folder, so that one that is
    killed comes back with what it had.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(PROGRAM),
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(folder),
        "--save",
        "",
        "--appendonly",
        "yes",
    ]
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries(TARGET)}
    with (folder / "redis.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def main() -> int:
    """Leave the program behind."""
    once(TARGET, lambda: unpack(TARGET, PACKAGES))
    print(PROGRAM)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
