"""Whole reports of recorded scenarios, word for word. Renewed with `pytest tests/golden --renew`:
read the difference.

tests/golden/<scenario>/report.txt   what the terminal shows, 100 columns wide
tests/golden/<scenario>/report.md    what goes into a ticket
tests/golden/<scenario>/report.json  what a program gets
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tried_bundles import BUNDLES, advised_once

from barostat.judge.advice import tried_steps
from barostat.shells.cli.main import main

HERE = Path(__file__).parent
SCENARIOS = (
    "bad-config-argument", "healthy-busy", "healthy-idle", "host-bound-text", "hung-engine", "kv-admission-queueing",
    "kv-pool-too-small", "kv-preemption-thrash", "prefill-bound", "slot-bound",
)  # fmt: skip
LENGTHY = "kv-admission-queueing"
"""Its trials behind a gate take longer than all others together."""
FORMS = {"txt": "table", "md": "md", "json": "json"}


@pytest.mark.parametrize("ending", FORMS)
@pytest.mark.parametrize(
    "scenario",
    [pytest.param(one, marks=pytest.mark.sweep if one == LENGTHY else ()) for one in SCENARIOS],
)
def test_a_report_is_word_for_word_what_it_was(
    scenario: str,
    ending: str,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(BUNDLES)
    for name, value in (("COLUMNS", "100"), ("NO_COLOR", "1"), ("TERM", "dumb"), ("TZ", "UTC")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tried_steps, "advised", advised_once)
    main(["diagnose", "--bundle", scenario, "-o", FORMS[ending]])
    said = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    golden = HERE / scenario / f"report.{ending}"
    if pytestconfig.getoption("--renew"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said, encoding="utf-8")
    assert golden.exists(), f"{golden} is not there: pytest tests/golden --renew"
    assert said == golden.read_text(encoding="utf-8"), (
        "if this is better: pytest tests/golden --renew, and read the difference"
    )


def test_no_report_is_kept_that_nothing_makes() -> None:
    assert sorted(
        path.name for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"
    ) == sorted(SCENARIOS)
