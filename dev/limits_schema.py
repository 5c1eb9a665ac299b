"""Write the JSON Schema and the CRD of ServingLimits, and the CRD of PressureIncident, from the
dataclasses; with --check say whether the files are current. The chart holds a copy of both CRDs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from barostat.io.input_files import limits_schema
from barostat.operator import incident

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "docs" / "reference" / "serving-limits.schema.json"
CRDS = ROOT / "deploy" / "crds"
IN_CHART = ROOT / "deploy" / "chart" / "files"


def texts() -> dict[Path, str]:
    """The files and what they must hold."""
    crds = {
        "servinglimits.yaml": ("core/limits.py", limits_schema.crd()),
        "pressureincidents.yaml": ("operator/incident.py", incident.crd()),
    }
    found = {SCHEMA: json.dumps(limits_schema.json_schema(), indent=2) + "\n"}
    for name, (source, crd) in crds.items():
        head = f"# Made by dev/limits_schema.py from {source}: do not edit.\n"
        body = head + yaml.safe_dump(crd, sort_keys=False, width=140)
        found |= {CRDS / name: body, IN_CHART / name: body}
    return found


def main() -> int:
    """Write the files, or check them."""
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
