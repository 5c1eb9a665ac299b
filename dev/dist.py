"""Builds the wheel and the source archive, and checks each where nothing else is installed: help,
and the diagnosis of a recording.

    python dev/dist.py

Leaves both in dist/. Dependencies come from the index that pip is set up for.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
RECORDING = ROOT / "tests" / "data" / "bundles" / "kv-preemption-thrash"
CAUSE = "kv-preemption-thrash"
IN_THE_WHEEL = ("barostat/py.typed", "barostat/catalog/models/qwen.jsonl")


def build() -> list[Path]:
    """The two artefacts, made anew."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(DIST)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]


def check(artefact: Path) -> None:
    """The artefact installs into a clean environment, and does there what a person tries first.

    Errors: CalledProcessError or AssertionError, with what was said.
    """
    with tempfile.TemporaryDirectory(prefix="barostat-dist-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python, tool = Path(folder) / "bin" / "python", Path(folder) / "bin" / "barostat"
        subprocess.run(
            [
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                str(artefact),
            ],
            check=True,
            cwd=folder,
        )
        said = subprocess.run(
            [tool, "--help"], check=True, cwd=folder, capture_output=True, text=True
        ).stdout
        assert "barostat diagnose --bundle" in said, said
        done = subprocess.run(
            [tool, "diagnose", "--bundle", str(RECORDING), "-o", "json"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1, done.stderr
        assert CAUSE in json.dumps(json.loads(done.stdout)), done.stdout[:500]
        planned = [str(tool), "plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "-o", "limits"]
        limits = subprocess.run(
            planned, check=True, cwd=folder, capture_output=True, text=True
        ).stdout
        (Path(folder) / "limits.yaml").write_text(limits)
        subprocess.run(
            [tool, "limits", "validate", "limits.yaml"],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )


def main() -> int:
    """Build, check, say what there is."""
    artefacts = build()
    assert len(artefacts) == 2, artefacts
    names = zipfile.ZipFile(artefacts[0]).namelist()
    assert not [name for name in IN_THE_WHEEL if name not in names], names
    for artefact in artefacts:
        check(artefact)
        print(
            f"{artefact.relative_to(ROOT)}: {artefact.stat().st_size / 1e3:.0f} kB, "
            "installs and answers"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
