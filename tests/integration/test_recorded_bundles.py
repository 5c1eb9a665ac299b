"""What was recorded from the real vLLM is still named as what it was: no engine needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from dev.scenarios import SCENARIOS, scenario

from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import diagnose

BUNDLES = Path(__file__).parents[1] / "data" / "bundles"
RECORDED = sorted(folder.name for folder in BUNDLES.iterdir())


def test_every_scenario_was_recorded() -> None:
    missing = {one.name for one in SCENARIOS} - set(RECORDED)
    assert not missing
    assert all(scenario(name) for name in RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_is_named(name: str) -> None:
    one = scenario(name)
    report = diagnose(bundle.read(BUNDLES / name))
    (replica,) = report.replicas
    assert replica.diagnosis.cause == one.cause, replica
    if one.thrashing:
        named = f"(engine {one.thrashing}; 1 of 2 data-parallel engines say so)"
        assert named in replica.diagnosis.summary
    assert replica.engine_version.startswith("0.32.0")
    if one.cause.startswith("healthy"):
        assert replica.forecast.exhaustion_in_s is None, replica.forecast


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_names_nothing_of_the_machine_it_was_made_on(name: str) -> None:
    for file in (BUNDLES / name).rglob("*"):
        if file.is_file():
            text = file.read_text()
            assert "/root/" not in text, file
            assert "/home/" not in text, file
