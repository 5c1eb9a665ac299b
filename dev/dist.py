"""Builds the source archive, the wheel for any machine, and the wheel for this kind of machine,
whose gateway is compiled; and checks each where nothing else is installed: help, and the diagnosis
of a recording.

    python dev/dist.py [--pure]

Leaves them in dist/: pip takes the compiled wheel where it fits, else the other. `--pure`: without
a C compiler, no compiled wheel. Dependencies come from the index that pip is set up for.
"""

from __future__ import annotations

import json
import os
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


def build(*, compiled: bool) -> list[Path]:
    """The artefacts, made anew. `compiled`: the wheel for this kind of machine too."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(DIST)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found = [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]
    if compiled:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(DIST)],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true"},
        )
        found += sorted(set(DIST.glob("*.whl")) - set(found))
    return found


def is_compiled(artefact: Path) -> bool:
    """True for the wheel whose gateway is compiled."""
    return artefact.suffix == ".whl" and not artefact.name.endswith("-any.whl")


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
        version = subprocess.run(
            [tool, "version"], check=True, cwd=folder, capture_output=True, text=True
        ).stdout
        assert ("gateway: compiled" in version) == is_compiled(artefact), version
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
    pure = "--pure" in sys.argv[1:]
    if not pure and shutil.which(os.environ.get("CC", "cc")) is None:
        print(
            "make dist: no C compiler (cc) is here, and the compiled gateway needs one: install "
            "it, or `python dev/dist.py --pure` for the wheel that runs anywhere",
            file=sys.stderr,
        )
        return 2
    artefacts = build(compiled=not pure)
    assert len(artefacts) == (2 if pure else 3), artefacts
    names = zipfile.ZipFile(artefacts[0]).namelist()
    assert not [name for name in IN_THE_WHEEL if name not in names], names
    for artefact in artefacts:
        check(artefact)
        print(
            f"{artefact.relative_to(ROOT)}: {artefact.stat().st_size / 1e3:.0f} kB, "
            f"installs and answers{', its gateway compiled' if is_compiled(artefact) else ''}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
