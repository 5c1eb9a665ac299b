"""Real incidents through `diagnose`: each row's evidence becomes a bundle, the bundle is judged,
the answers are counted.

    python bench/incidents.py CASES.jsonl --out FILE [--keep]

Of a row only `evidence` and `vllm_version` reach the judge. Its `label` is used afterwards, to
count (bench/incident_labels.yaml says which causes are right for which label). FILE gets a line a
row: {id, cause, variant, confidence}. The gate is printed last; exit 1 if it fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.incident_bundle import write_bundle
from bench.kept import Figure, Kept, keep

from barostat.core.diagnosis import Diagnosis
from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import diagnose

LABELS: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parent / "incident_labels.yaml").read_text()
)
HEALTHY = ("healthy-idle", "healthy-busy")
Row = dict[str, Any]
Answer = tuple[Row, Diagnosis]


def answer(row: Row) -> Diagnosis:
    """The diagnosis of one row, from its evidence and version alone."""
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(Path(folder), row["evidence"], row.get("vllm_version"))
        return diagnose(bundle.read(Path(folder))).fleet


def gated(row: Row) -> bool:
    """True for the rows that the gate counts: a tool can judge them, the root cause is sure, and
    there is a log.
    """
    return bool(
        row["machine_evaluable"] and row["confidence"] == "high" and row["evidence"].get("logs")
    )


def right(row: Row, cause: str) -> bool:
    """True if the cause is one that the row's label allows."""
    return cause in LABELS[row["label"]]


def matrix(answers: Iterable[Answer]) -> str:
    """Labels against causes, as text."""
    counts = Counter((row["label"], found.cause) for row, found in answers)
    labels = sorted({label for label, _ in counts})
    causes = sorted({cause for _, cause in counts})
    width = max(map(len, labels))
    lines = [" " * width + "  " + "  ".join(causes)]
    lines += [
        f"{label:{width}}  "
        + "  ".join(f"{counts[label, cause] or '.':>{len(cause)}}" for cause in causes)
        for label in labels
    ]
    return "\n".join(lines)


def report(answers: list[Answer]) -> bool:
    """Print the counts; True if the gate holds."""
    counted = [(row, found) for row, found in answers if gated(row)]
    answered = [(row, found) for row, found in counted if found.cause != "unknown"]
    wrong = [(row, found) for row, found in answered if not right(row, found.cause)]
    accused = [
        (row, found)
        for row, found in answers
        if row["label"] == "healthy" and found.cause not in (*HEALTHY, "unknown")
    ]
    pressed = [
        (row, found)
        for row, found in answers
        if row["label"] == "other" and found.cause.startswith("kv-")
    ]
    print(f"all rows ({len(answers)}):\n{matrix(answers)}\n")
    print(
        f"gated rows ({len(counted)}: machine_evaluable, confidence high, log "
        f"evidence):\n{matrix(counted)}\n"
    )
    for title, rows in (
        ("gated, answered, wrong", wrong),
        (
            "gated, not answered",
            [(row, found) for row, found in counted if found.cause == "unknown"],
        ),
        (
            "not gated, answered, wrong",
            [
                (r, f)
                for r, f in answers
                if not gated(r) and f.cause != "unknown" and not right(r, f.cause)
            ],
        ),
    ):
        print(f"{title} ({len(rows)}):")
        for row, found in rows:
            print(
                f"  {row['id']}: {row['label']}/{row['sub_label']} -> {found.cause} "
                f"{found.variant} {found.confidence:.2f}: {found.summary}"
            )
    precision = 1 - len(wrong) / max(1, len(answered))
    share = len(answered) / max(1, len(counted))
    print(
        f"\nright of answered: {len(answered) - len(wrong)}/{len(answered)} = "
        f"{precision:.1%} (gate 95 %)"
    )
    print(f"answered: {len(answered)}/{len(counted)} = {share:.1%} (gate 80 %)")
    print(f"healthy rows called an incident: {[row['id'] for row, _ in accused]} (gate: none)")
    print(f"other rows called KV pressure: {[row['id'] for row, _ in pressed]} (gate: none)")
    return precision >= 0.95 and share >= 0.80 and not accused and not pressed


def main() -> int:
    """Judge every row, write the answers, print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=Path, help="incidents, one JSON object a line")
    parser.add_argument(
        "--out", type=Path, required=True, help="file for the answers, one JSON object a line"
    )
    parser.add_argument("--keep", action="store_true", help="write bench/results/verdicts.json")
    arguments = parser.parse_args()
    rows: list[Row] = [
        json.loads(line) for line in arguments.cases.read_text().splitlines() if line.strip()
    ]
    answers = [(row, answer(row)) for row in rows]
    with arguments.out.open("w") as out:
        for row, found in answers:
            line = {
                "id": row["id"],
                "cause": found.cause,
                "variant": found.variant or None,
                "confidence": found.confidence,
            }
            out.write(json.dumps(line) + "\n")
    if not any("label" in row for row in rows):
        print(f"{len(rows)} rows answered; they carry no labels to count against")
        return 0
    held = report(answers)
    if arguments.keep:
        keep("verdicts", _kept(answers))
    return 0 if held else 1


def _kept(answers: list[Answer]) -> Kept:
    counted = [(row, found) for row, found in answers if gated(row)]
    answered = [(row, found) for row, found in counted if found.cause != "unknown"]
    correct = sum(right(row, found.cause) for row, found in answered)
    quiet = [found for row, found in answers if row["label"] == "healthy"]
    calm = sum(found.cause in (*HEALTHY, "unknown") for found in quiet)
    return Kept(
        "python bench/incidents.py CASES.jsonl --out FILE --keep",
        "incidents of public threads with their logs, metrics and what fixed them",
        [
            Figure("cause named rightly, of those named", f"{correct} of {len(answered)}", len(answered)),
            Figure("cause named at all, of those that a machine can judge", f"{len(answered)} of {len(counted)}", len(counted)),
            Figure("healthy engines that are left in peace", f"{calm} of {len(quiet)}", len(quiet)),
        ],
        ["The rows on file were seen while the rules were written; a larger set is kept back by those who judge.",
         "Most threads are of NVIDIA cards; the rows do not state enough for figures by card."],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
