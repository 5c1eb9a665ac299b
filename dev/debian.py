"""Debian's packages, unpacked into the cache and not installed (no root): what the `setup_`
programs of this folder share.

<cache>/<name>/   usr/bin/... usr/lib/...   READY (written last)
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

_DOWNLOAD = ["apt-get", "-qq", "-o", "APT::Sandbox::User=", "download"]


def unpack(target: Path, packages: Iterable[str]) -> None:
    """Everything in these packages lies under target. Empty package lists are fetched first, where
    that is allowed.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise SystemExit(f"{target.name}: apt-get and dpkg-deb are needed (Debian or Ubuntu)")
    with tempfile.TemporaryDirectory() as folder:
        fetch = [*_DOWNLOAD, *packages]
        if subprocess.run(fetch, cwd=folder, capture_output=True).returncode:
            subprocess.run(["apt-get", "-qq", "update"], check=True)
            subprocess.run(fetch, cwd=folder, check=True)
        for package in sorted(Path(folder).glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(package), str(target)], check=True)


def once(target: Path, build: Callable[[], None]) -> None:
    """Target is complete: built by `build` if it was not, by one process at a time."""
    target.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "READY").exists():
            build()
            (target / "READY").write_text("complete\n")


def libraries(target: Path) -> str:
    """The value of LD_LIBRARY_PATH with which unpacked programs find their unpacked libraries."""
    return ":".join(str(folder) for folder in sorted((target / "usr" / "lib").glob("*-linux-gnu*")))
