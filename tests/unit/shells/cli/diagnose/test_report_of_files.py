"""`barostat report` of a recorded bundle: a post-mortem without a Prometheus."""

from __future__ import annotations

import json
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
