"""Writes the JSON Schema and the CRD of ServingLimits from the dataclasses, or with --check says
whether the files are current.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from barostat.io.input_files import limits_schema

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "docs" / "reference" / "serving-limits.schema.json"
CRD = ROOT / "deploy" / "crds" / "servinglimits.yaml"


def texts() -> dict[Path, str]:
    """The files and what they must hold."""
    head = "# Made by dev/limits_schema.py from core/limits.py: do not edit.\n"
    return {
        SCHEMA: json.dumps(limits_schema.json_schema(), indent=2) + "\n",
        CRD: head + yaml.safe_dump(limits_schema.crd(), sort_keys=False, width=140),
    }


def main() -> int:
    """Write both files, or check them."""
    stale = [
        path for path, text in texts().items() if not path.exists() or path.read_text() != text
    ]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not current: run python dev/limits_schema.py")
        return int(bool(stale))
    for path, text in texts().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
