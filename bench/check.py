"""How long `barostat check` takes: 1,000 manifests of the corpus in one folder, and one file from a
cold start.

    python bench/check.py

Beside it, in the same run: what PyYAML takes to load the same files (its fast loader), which no
linter can go below. Processor time of one core; exits 1 above the promises (1,000 in 5 s, one file
in 0.3 s).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "data" / "check"
COUNT = 1000
PROMISED_S, PROMISED_ONE_S = 5.0, 0.3
_LOAD = (
    "import sys,yaml\nfor name in sys.argv[1:]:\n    list(yaml.load_all(open(name, "
    "encoding='utf-8'), yaml.CSafeLoader))"
)


def _spent(command: list[str]) -> tuple[float, int]:
    """Processor seconds of the command, and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        env=_environment(),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> int:
    """Measure, print; 1 where a promise is not kept."""
    sources = [path for path in sorted(CORPUS.glob("*/*.yaml")) if path.parent.name != "odd"]
    barostat = [sys.executable, "-m", "barostat.shells.cli.main", "check"]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number in range(COUNT):
            source = sources[number % len(sources)]
            place = Path(folder) / f"team-{number // 25}"
            place.mkdir(exist_ok=True)
            files.append(place / f"{number}-{source.name}")
            files[-1].write_text(source.read_text().replace("name: llm", f"name: llm-{number}"))
        size = sum(file.stat().st_size for file in files)
        one = sources[0]
        _spent([*barostat, str(one)])  # compiles our modules once, as an installation does
        whole, code = _spent([*barostat, folder])
        alone = min(_spent([*barostat, str(one)])[0] for _ in range(5))
        loading = _spent([sys.executable, "-c", _LOAD, *map(str, files)])[0]
    print(f"{COUNT:,} manifests, {size / 1e6:.1f} MB: {whole:.2f} s of one core (exit {code}); PyYAML's loader alone {loading:.2f} s:"
          f" {whole / loading:.1f} times")  # fmt: skip
    print(f"one file from a cold start: {alone:.2f} s")
    return 0 if whole < PROMISED_S and alone < PROMISED_ONE_S and code == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
