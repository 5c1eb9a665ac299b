"""A real browser, Debian's chromium with the libraries that it needs, unpacked into the cache and
not installed (`make browser`; no root).

    <cache>/chromium-debian/   usr/lib/chromium/chromium ...   READY (written last)

What the machine has of the libraries is used; what it lacks is unpacked beside. Prints the path of
the program as its last line.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.setup_vllm import cache_dir

TARGET = cache_dir() / "chromium-debian"
PROGRAM = TARGET / "usr" / "lib" / "chromium" / "chromium"
PACKAGES = ("chromium", "chromium-common")
FONTS = "fonts-dejavu-core"


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def library_path() -> str:
    """Where the unpacked libraries lie, as the loader wants it, libpulse's own one folder deeper;
    the machine's are found after them.
    """
    libraries = TARGET / "usr" / "lib"
    return ":".join(
        str(path)
        for pattern in ("*-linux-gnu*", "*-linux-gnu*/pulseaudio")
        for path in sorted(libraries.glob(pattern))
    ) or str(TARGET)


def main() -> int:
    """Leave the program behind."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with (TARGET.parent / f"{TARGET.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_installed():
            if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
                print(
                    "browser: apt-get and dpkg-deb are needed (Debian or Ubuntu)", file=sys.stderr
                )
                return 1
            unpack()
            (TARGET / "READY").write_text("complete\n")
    print(PROGRAM)
    return 0


def unpack() -> None:
    """Fill TARGET. A machine whose package lists are empty has them fetched first, where that is
    allowed.
    """
    wanted = _wanted()
    if not wanted:
        subprocess.run(["apt-get", "-qq", "update"], check=True)
        wanted = _wanted()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["apt-get", "-qq", "-o", "APT::Sandbox::User=", "download", *wanted],
            cwd=folder,
            check=True,
        )
        for package in sorted(Path(folder).glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(package), str(TARGET)], check=True)
    missing = subprocess.run(
        ["ldd", str(PROGRAM)],
        capture_output=True,
        text=True,
        env={"LD_LIBRARY_PATH": library_path()},
        check=True,
    )
    assert "not found" not in missing.stdout, missing.stdout


def _wanted() -> list[str]:
    """The packages that apt would install for it here, and its own two where they are installed
    already; empty where apt knows none.
    """
    asked = [
        "apt-get",
        "-s",
        "-o",
        "Debug::NoLocking=true",
        "install",
        "--no-install-recommends",
        *PACKAGES,
        FONTS,
    ]
    done = subprocess.run(
        asked,
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        check=False,
    )
    if done.returncode:
        return []
    found = re.findall(r"^Inst (\S+)", done.stdout, re.MULTILINE)
    return sorted({*PACKAGES, FONTS, *found})


if __name__ == "__main__":
    raise SystemExit(main())
