"""`barostat report` of a recorded bundle: a post-mortem without a Prometheus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from barostat.shells.cli.main import main

BUNDLES = Path(__file__).parents[4] / "data" / "bundles"


def test_a_bundle_has_its_post_mortem(capsys: pytest.CaptureFixture[str]) -> None:
    bundle = str(BUNDLES / "kv-preemption-thrash")
    assert main(["report", bundle, "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["main"]["cause"] == "kv-preemption-thrash"
    assert found["from"] < found["to"]
    assert len(found["steps"]) > 1
    assert all(
        one["to"] == two["from"]
        for one, two in zip(found["steps"], found["steps"][1:], strict=False)
    )
    assert found["during"]["preemptionsPerSecond"] > 0
    assert main(["report", bundle, "-o", "html"]) == 1
    assert "kv-preemption-thrash" in capsys.readouterr().out


def test_its_figures_and_steps_are_those_of_the_diagnosis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = str(tmp_path / "incident.tar.gz")
    assert main(["example", "bundle", "-o", bundle]) == 0
    capsys.readouterr()
    main(["diagnose", bundle, "-o", "json"])
    diagnosed = json.loads(capsys.readouterr().out)["replicas"][0]
    main(["report", bundle, "-o", "json"])
    past = json.loads(capsys.readouterr().out)
    assert past["main"]["summary"] == diagnosed["diagnosis"]["summary"]
    assert "44 preemptions" in past["main"]["summary"]
    assert (past["main"]["summaryFrom"], past["main"]["summaryTo"]) == (past["from"], past["to"])
    assert [one["lever"] for one in past["next"]] == [one["lever"] for one in diagnosed["next"]]


def test_its_what_if_command_can_be_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "night one.tar.gz"
    main(["example", "bundle", "-o", str(bundle)])
    for verb in ("report", "diagnose"):
        capsys.readouterr()
        main([verb, str(bundle), "-o", "md"])
        said = capsys.readouterr().out
        assert f"barostat what-if --from '{bundle}' --set replicas=+1" in said.replace("\\", "")
        assert "..." not in said


def test_its_time_is_named_to_the_second_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = str(tmp_path / "incident.tar.gz")
    main(["example", "bundle", "-o", bundle])
    capsys.readouterr()
    main(["report", bundle])
    assert re.search(r" · 2026-11-2\d \d\d:22:19 to \d\d:22:49 \S+\n", capsys.readouterr().out)


def test_a_log_alone_has_a_cause_and_no_duration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(
        "INFO 11-21 08:00:00 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config\n"
        "vllm: error: unrecognized arguments: --swap-space 4\n"
    )
    main(["report", str(log)])
    said = capsys.readouterr().out
    assert said.startswith("# What happened\n")
    assert "bad-config" in said
    assert "1970" not in said


def test_what_belongs_to_prometheus_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(BUNDLES / "kv-preemption-thrash"), "--since", "7d"]) == 2
    assert "--since: belongs to --prometheus" in capsys.readouterr().err
    assert main(["report"]) == 2
    assert "a recorded bundle such as" in capsys.readouterr().err
