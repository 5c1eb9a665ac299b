"""Which engine of a recording stands for all, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.bundles import bundle
from barostat.judge.observed.engine import busiest_engine, observed_engine

BUNDLES = Path(__file__).parents[3] / "data" / "bundles"


def test_the_busiest_of_two_data_parallel_engines_stands_for_both() -> None:
    recording = bundle.read(BUNDLES / "thrash-one-rank-of-two")
    found = busiest_engine(recording)
    assert found.index == "0"
    (note,) = found.notes
    assert "has 2 data-parallel engines: engine 0, with 40 requests on average the busiest" in note
    assert note.endswith("preemptions: engine 0 (24); engine 1 preempted none")
    assert observed_engine(recording).index == "0"


def test_of_a_single_engine_nothing_is_said() -> None:
    assert busiest_engine(bundle.read(BUNDLES / "kv-preemption-thrash")).notes == ()


def test_a_recording_without_a_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bundle.yaml").write_text(
        "apiVersion: barostat.dev/v1alpha1\nkind: Bundle\nengine: vllm\nreplicas: []\n"
    )
    with pytest.raises(InputError, match="tells nothing of an engine"):
        busiest_engine(bundle.read(tmp_path))
