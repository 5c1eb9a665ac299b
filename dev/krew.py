"""The kubectl plugin as krew takes it: an archive with the launcher and the licence, and the
manifest that names it by its sum.

    python dev/krew.py                     dist/krew/barostat.zip, and deploy/krew/barostat.yaml anew
    kubectl krew install --manifest=deploy/krew/barostat.yaml --archive=dist/krew/barostat.zip

The archive is the same to the byte wherever it is made. There is no public address yet: `uri` is
one that cannot be.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import yaml

from barostat import __version__

ROOT = Path(__file__).resolve().parents[1]
ROOM = ROOT / "deploy" / "krew"
MANIFEST = ROOM / "barostat.yaml"
ARCHIVE = ROOT / "dist" / "krew" / "barostat.zip"
LAUNCHER = "kubectl-barostat"
_FILES = ((ROOM / LAUNCHER, 0o755), (ROOT / "LICENSE", 0o644))
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_URI = f"https://releases.invalid/barostat/v{__version__}/barostat.zip"
_HEAD = (
    "# Made by `python dev/krew.py`. No public address yet: install with --manifest and "
    "--archive (README.md).\n"
)


def archive() -> bytes:
    """The plugin's files, not compressed, so that no library's version is in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as packed:
        for path, mode in _FILES:
            entry = zipfile.ZipInfo(path.name, _LONG_AGO)
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            packed.writestr(entry, path.read_bytes())
    return out.getvalue()


def manifest() -> dict[str, Any]:
    """The plugin's manifest, in the fields that krew documents."""
    systems = {"matchExpressions": [{"key": "os", "operator": "In", "values": ["darwin", "linux"]}]}
    platform = {
        "selector": systems,
        "uri": _URI,
        "sha256": hashlib.sha256(archive()).hexdigest(),
        "files": [{"from": path.name, "to": "."} for path, _ in _FILES],
        "bin": LAUNCHER,
    }
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "barostat"},
        "spec": {
            "version": f"v{__version__}",
            "shortDescription": "Name what is wrong with a vLLM, and mend it",
            "description": (
                "Looks at the vLLM engines of a cluster, names the cause of KV-cache "
                "pressure with the evidence for it,\n"
                "and says what to do.\n"
                "Reads only, but for `mitigate`, `rollback` and `incident resume|abort`.\n"
            ),
            "caveats": (
                "Starts the barostat of this machine (pipx install, Python 3.11), or with "
                "BAROSTAT_PACKAGE\n"
                "the one that uvx or pipx runs.\n"
            ),
            "platforms": [platform],
        },
    }


def text() -> str:
    """The manifest's file."""
    return _HEAD + yaml.safe_dump(manifest(), sort_keys=False, width=200)


def main() -> int:
    """Write both."""
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    ARCHIVE.write_bytes(archive())
    MANIFEST.write_text(text(), encoding="utf-8")
    print(f"{ARCHIVE.relative_to(ROOT)}\n{MANIFEST.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
