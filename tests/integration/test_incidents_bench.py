"""The benchmark over real incidents holds its gate, where the shared cases are at hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "dev-cases" / "incidents.jsonl"


@pytest.mark.skipif(
    not CASES.exists(), reason="the shared incident cases are not beside this checkout"
)
def test_the_gate_holds_on_the_development_cases(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    command = [sys.executable, str(ROOT / "bench" / "incidents.py"), str(CASES), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    rows = [json.loads(line) for line in CASES.read_text().splitlines() if line.strip()]
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert [answer["id"] for answer in answers] == [row["id"] for row in rows]
    assert all(set(answer) == {"id", "cause", "variant", "confidence"} for answer in answers)
