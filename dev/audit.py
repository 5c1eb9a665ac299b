"""Known vulnerabilities of what `requirements.lock` pins, as pip-audit finds them; where no
database answers, that is said (`make audit`).

pip-audit runs in an environment of its own in the cache. It ends with 0 also where it could look up
nothing: what it skipped is counted here.
Exit code: 0 nothing known, 1 something is, 3 no database could be reached.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.setup_vllm import cache_dir

ROOT = Path(__file__).resolve().parents[1]
TARGET = cache_dir() / "pip-audit"
PATIENCE_S = 300


def told(found: dict[str, Any]) -> tuple[int, str]:
    """(the exit code, what to say) of pip-audit's own document."""
    packages = found.get("dependencies", [])
    skipped = [one for one in packages if "skip_reason" in one]
    known = [
        (one["name"], one["version"], each) for one in packages for each in one.get("vulns", ())
    ]
    if known:
        lines = [
            (
                f"{name} {version}: {each['id']}, mended in "
                f"{', '.join(each['fix_versions']) or 'no version'}"
            )
            for name, version, each in known
        ]
        return 1, "\n".join(lines)
    if not packages or len(skipped) == len(packages):
        return (
            3,
            (
                f"no database of vulnerabilities is reachable from here: of {len(packages)} "
                "libraries none could be looked up"
            ),
        )
    left = (
        f"; {len(skipped)} could not be looked up: {', '.join(one['name'] for one in skipped)}"
        if skipped
        else ""
    )
    return 0, f"{len(packages) - len(skipped)} libraries looked up, no vulnerability known{left}"


def main() -> int:
    """Ask, say, answer the exit code."""
    program = TARGET / "bin" / "pip-audit"
    if not program.exists():
        venv.create(TARGET, with_pip=True)
        subprocess.run(
            [
                TARGET / "bin" / "python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "pip-audit",
            ],
            check=True,
        )
    asked = [
        str(program),
        "--require-hashes",
        "--disable-pip",
        "--progress-spinner",
        "off",
        "-f",
        "json",
        "-r",
        str(ROOT / "requirements.lock"),
    ]
    try:
        done = subprocess.run(
            asked, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        found = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        found = {}
    code, sentence = told(found)
    print(f"audit: {sentence}", file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
