"""A real Prometheus and Alertmanager, Debian's packages, unpacked into the cache and not installed
(`make prometheus`; no root, 30 MB).

    <cache>/prometheus-debian/     usr/bin/prometheus usr/bin/promtool ...   READY (written last)
    <cache>/alertmanager-debian/   usr/bin/prometheus-alertmanager ...       READY

Prints the path of Prometheus as its last line.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.debian import once, unpack
from dev.setup_vllm import cache_dir

TARGET = cache_dir() / "prometheus-debian"
PROGRAM = TARGET / "usr" / "bin" / "prometheus"
ALERTMANAGER_TARGET = cache_dir() / "alertmanager-debian"
ALERTMANAGER = ALERTMANAGER_TARGET / "usr" / "bin" / "prometheus-alertmanager"


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def alertmanager_is_installed() -> bool:
    """True if Alertmanager is here, too."""
    return (ALERTMANAGER_TARGET / "READY").exists()


def unpack_alertmanager() -> None:
    """Debian's Alertmanager opens its template where the package would have been installed; here it
    does from its own folder.

    The path in the program is made relative, one stroke doubled to keep its length: start it with
    ALERTMANAGER_TARGET as working directory.
    """
    unpack(ALERTMANAGER_TARGET, ("prometheus-alertmanager",))
    program = ALERTMANAGER.read_bytes()
    installed, here = b"/usr/share/prometheus/alertmanager", b"usr/share/prometheus//alertmanager"
    if installed not in program:
        raise SystemExit(f"{ALERTMANAGER} does not name its folder any more")
    ALERTMANAGER.write_bytes(program.replace(installed, here))


def main() -> int:
    """Leave the programs behind."""
    once(ALERTMANAGER_TARGET, unpack_alertmanager)
    once(TARGET, lambda: unpack(TARGET, ("prometheus",)))
    print(PROGRAM)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
