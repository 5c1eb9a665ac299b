"""A real Prometheus, Debian's package, unpacked into the cache and not installed (`make prometheus`; no root, 19 MB).

    <cache>/prometheus-debian/   usr/bin/prometheus ...   READY (written last)

Prints the path of the program as its last line.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.setup_vllm import cache_dir

TARGET = cache_dir() / "prometheus-debian"
PROGRAM = TARGET / "usr" / "bin" / "prometheus"


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def main() -> int:
    """Leave the program behind."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with (TARGET.parent / f"{TARGET.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_installed():
            if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
                print("prometheus: apt-get and dpkg-deb are needed (Debian or Ubuntu)", file=sys.stderr)
                return 1
            unpack()
            (TARGET / "READY").write_text("complete\n")
    print(PROGRAM)
    return 0


def unpack() -> None:
    """Fill TARGET. A machine whose package lists are empty has them fetched first, where that is allowed."""
    with tempfile.TemporaryDirectory() as folder:
        fetch = ["apt-get", "-qq", "-o", "APT::Sandbox::User=", "download", "prometheus"]
        if subprocess.run(fetch, cwd=folder, capture_output=True).returncode:
            subprocess.run(["apt-get", "-qq", "update"], check=True)
            subprocess.run(fetch, cwd=folder, check=True)
        (package,) = Path(folder).glob("prometheus_*.deb")
        subprocess.run(["dpkg-deb", "-x", str(package), str(TARGET)], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
