"""docs/reference/workloads.md: which verb works for which kind of workload, made from the tests
(`tests/unit/shells/cli/test_main_every_kind.py`, `tests/cluster/kinds.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

_MODULE = "tests/unit/shells/cli/test_main_every_kind.py"
_ON_CLUSTER = "tests/cluster/"
_INTRODUCTION = """\
# Workloads

Rows are kinds of workloads, columns are verbs. "yes" means that the test below passes for the kind,
for example `{example}`. A number points to the sentence that says why not, and what to do by hand.
The last column says whether a remedy of the kind runs against its real controllers on a real
Kubernetes, and in which file of `{on_cluster}` (remedies that are carried out there are part of
`make test-long`).

"""


def _on_cluster(shapes: Mapping[str, Any], kind: str) -> str:
    if kind == "Deployment":
        return "yes: `test_mitigate.py`"
    if kind == "RayService":
        return "`make test-long`: `test_ray_service.py`"
    if kind not in shapes:
        return "no"
    return f"{'`make test-long`' if shapes[kind].long else 'yes'}: `test_mitigate_kinds.py`"


def workloads_page() -> str:
    """The page: the table, the notes, the tests."""
    from tests.cluster.kinds import SHAPES
    from tests.unit.shells.cli.test_main_every_kind import KINDS, SAMPLES, VERBS, cell

    notes: list[str] = []

    def shown(kind: str, verb: str) -> str:
        why = cell(kind, verb)
        if not why:
            return "yes"
        if why not in notes:
            notes.append(why)
        return f"[{notes.index(why) + 1}](#notes)"

    rows = [
        [
            f"{kind} (`{SAMPLES[kind].kind.api.word}/NAME`)",
            *(shown(kind, verb) for verb in VERBS),
            _on_cluster(SHAPES, kind),
        ]
        for kind in KINDS
    ]
    head = ["kind", *(f"`{verb}`" for verb in VERBS), "real controllers"]
    table = [head, ["---"] * len(head), *rows]
    example = f"{_MODULE}::{VERBS['diagnose']}[{KINDS[0]}]"
    lines = [
        _INTRODUCTION.format(example=example, on_cluster=_ON_CLUSTER),
        *("| " + " | ".join(row) + " |\n" for row in table),
        "\n## Notes\n\n",
        *(f"{number}. {_sentence(note)}\n" for number, note in enumerate(notes, 1)),
        "\n## Tests\n\n",
        *(f"- `{verb}`: `{_MODULE}::{test}[KIND]`\n" for verb, test in VERBS.items()),
    ]
    return "".join(lines)


def _sentence(text: str) -> str:
    first = text if text.startswith("serve") else text[0].upper() + text[1:]
    return first if first.endswith(".") else f"{first}."
