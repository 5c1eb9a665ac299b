"""Writes deploy/dashboards/*.json and deploy/alerts/*.yaml anew (`make docs`); with --check only
says which are not current (exit 1).

deploy/alerts/ holds what needs no limits file: the recordings that the dashboards read with every
alert that promises nothing, and the inhibitions. With limits: `barostat rules --limits`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dev.dashboards.boards import BOARDS
from dev.dashboards.grafana import as_json

from barostat.alerts.groups import rules_of
from barostat.alerts.named import alerts
from barostat.alerts.terms import Terms
from barostat.shells.cli.prevent.rules_forms import rendered

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PACKAGED = DEPLOY.parent / "src" / "barostat" / "shells" / "dashboards"


def texts() -> dict[Path, str]:
    """Every file and what should be in it."""
    found = {
        folder / f"{board.uid.removeprefix('barostat-')}.json": as_json(board)
        for board in BOARDS
        for folder in (DEPLOY / "dashboards", PACKAGED)
    }
    rules = rules_of(Terms())
    found[DEPLOY / "alerts" / "vllm.rules.yaml"] = rendered(rules, alerts(), "file", "")
    found[DEPLOY / "alerts" / "inhibitions.yaml"] = rendered(rules, alerts(), "alertmanager", "")
    return found


def main() -> int:
    """Write them, or hold them to the code."""
    old = []
    for path, text in texts().items():
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            old.append(path.name)
    if old:
        print(f"not current: {', '.join(old)}; run `make docs`", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    raise SystemExit(main())
