"""Write the rights that each kind of workload needs into deploy/rbac and the chart, between two
marks in each file; with --check say whether the files are current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from barostat.io.kubernetes.client.resources import INFERENCE_POOLS, workload_resource
from barostat.io.mitigation.facts import needed
from barostat.judge.mitigation.kept_units import RIGHTS
from barostat.platform.workloads import kinds

ROOT = Path(__file__).resolve().parents[1]
RBAC = ROOT / "deploy" / "rbac"
TEMPLATES = ROOT / "deploy" / "chart" / "templates"
BEGIN = "  # --- made by dev/workload_rights.py from platform/workloads: do not edit\n"
END = "  # --- end of what is made\n"
_WRITES = ("create", "update", "patch", "delete")
_VERBS = ("get", *_WRITES)

Resources = Iterable[tuple[str, str]]
"""Group and plural name."""


def _rule(group: str, resources: Iterable[str], verbs: Iterable[str]) -> str:
    named = group or '""'
    return f"  - {{apiGroups: [{named}], resources: [{', '.join(resources)}], verbs: [{', '.join(verbs)}]}}\n"


def _by_group(resources: Resources, *verbs: str) -> str:
    groups: dict[str, dict[str, None]] = {}
    for group, plural in resources:
        groups.setdefault(group, {})[plural] = None
    return "".join(_rule(group, groups[group], verbs) for group in sorted(groups))


def read() -> str:
    """The rules to read every kind, what stands between it and its pods, and what sends requests to
    them beside Services. Pods have their own.
    """
    found = [(kind.api.group, kind.api.plural) for kind in kinds()]
    found += [
        (between.group, between.plural)
        for kind in kinds()
        for between in map(workload_resource, kind.reads)
    ]
    pools = [(pool.group, pool.plural) for pool in INFERENCE_POOLS]
    kept = [one for one in found if one != ("", "pods")]
    return _by_group(kept, "get", "list") + _by_group(pools, "list")


def follow() -> str:
    """The rules to find the pods of a workload by the label that they share."""
    found = [kind for kind in kinds() if kind.name_label or kind.selector_path]
    return _by_group([(kind.api.group, kind.api.plural) for kind in found], "get")


def write() -> str:
    """The rules to change the kinds that remedies change, and to keep a former version warm."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for verb, group, resource in RIGHTS:
        verbs.setdefault((group, resource), set()).add(verb)
    for kind in kinds():
        for verb, group, resource in needed(kind) if kind.rolls else ():
            if verb in _WRITES and group == kind.api.group and resource.startswith(kind.api.plural):
                verbs.setdefault((group, resource), set()).add(verb)
    return "".join(
        _rule(group, [resource], [verb for verb in _VERBS if verb in verbs[group, resource]])
        for group, resource in sorted(verbs)
    )


def texts() -> dict[Path, str]:
    """The files and what they must hold. Errors: ValueError for a file without the marks."""
    made = {
        RBAC / "observer.yaml": read(),
        RBAC / "operator.yaml": write(),
        RBAC / "gateway.yaml": follow(),
        TEMPLATES / "observer-rbac.yaml": read(),
        TEMPLATES / "actuator-rbac.yaml": write(),
        TEMPLATES / "gateway.yaml": follow(),
    }
    found = {}
    for path, rules in made.items():
        before, begin, rest = path.read_text().partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise ValueError(f"{path.relative_to(ROOT)} has lost its marks")
        found[path] = f"{before}{begin}{rules}{end}{after}"
    return found


def main() -> int:
    """Write the files, or check them."""
    stale = {path: text for path, text in texts().items() if path.read_text() != text}
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not current: run python dev/workload_rights.py")
        return int(bool(stale))
    for path, text in stale.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
