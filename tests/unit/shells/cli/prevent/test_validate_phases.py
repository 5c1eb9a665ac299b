"""The phases of a validation, with a sender that only says what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import load_tests
from tests.support.page_text import unbroken

from barostat.io.engine_http.address import address
from barostat.judge.load_test.figures import Collected, Reading, Sent
from barostat.judge.load_test.traffic import Traffic
from barostat.load.run import RunBounds
from barostat.load.target import Target
from barostat.shells.cli.main import main
from barostat.shells.cli.prevent import load_inputs, validate_phases
from barostat.shells.reports.load.validation_document import rendered
from barostat.twin.summary import Slo

LIMITS = """\
apiVersion: barostat.dev/v1alpha1
kind: ServingLimits
metadata: {name: tiny}
spec:
  model: tiny
  request: {maxInputTokens: 300, maxOutputTokens: 40}
  engine: {maxNumSeqs: 8}
  slo: {ttftP99Seconds: 5.0, itlP99Seconds: 1.0}
"""
TARGET = Target(address("http://127.0.0.1:8000"), "completions", "tiny", shows_metrics=True)
OTHER = replace(TARGET, model="chat", origins=("meta-llama/Llama-3.1-8B-Instruct",))
Sender = Callable[[Traffic], Collected]


def answered(traffic: Traffic, ttft_s: float = 0.1) -> Collected:
    """Every row was sent when it was due and answered."""
    sent = [
        Sent(row.arrival_s, row.arrival_s, row.input_tokens, row.output_tokens, row.arrival_s + ttft_s, row.arrival_s + ttft_s,
             row.arrival_s + ttft_s, produced=1, events=1, status=200, fate="ok")
        for row in traffic.rows
    ]  # fmt: skip
    return Collected(
        sent,
        readings=[Reading(0.0, 0.2, 1, 0, 0)],
        duration_s=max(one.ended_s or 0.0 for one in sent),
    )


class Validating:
    """`barostat validate` with another sender. Mutable: `sent` is filled with the traffic of each
    phase.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.sent: list[Traffic] = []
        self.certificate = folder / "limits.certificate.json"
        self._limits = folder / "limits.yaml"
        self._limits.write_text(LIMITS)
        self._patch = patch
        patch.setattr(load_inputs, "aimed", lambda _: TARGET)
        patch.setattr(validate_phases, "understood", lambda target: target)

    def __call__(self, *words: str | Path, sender: Sender = answered) -> int:
        def carried_out(_: Target, traffic: Traffic, __: RunBounds, ___: Any) -> Collected:
            self.sent.append(traffic)
            return sender(traffic)

        self._patch.setattr(validate_phases, "carried_out", carried_out)
        return main(
            [
                "validate",
                TARGET.where.base,
                "--limits",
                str(self._limits),
                "--certificate",
                str(self.certificate),
                *map(str, words),
            ]
        )


@pytest.fixture
def validating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Validating:
    return Validating(tmp_path, monkeypatch)


def test_what_keeps_its_limits_is_certified(validating: Validating) -> None:
    assert validating("--knee", "--trials", "3", "--phase", "1s") == 0
    assert [traffic.description.split()[0] for traffic in validating.sent] == [
        "worst",
        "2",
        "input-limit",
        "output-limit",
        "all",
        "all",
        "all",
        "all",
    ]
    assert validating.certificate.exists()


@pytest.mark.sweep
@pytest.mark.parametrize("place", range(8))
def test_ctrl_c_ends_it_wherever_it_is_and_certifies_nothing(
    place: int, validating: Validating, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(traffic: Traffic) -> Collected:
        found = answered(traffic)
        found.interrupted = len(validating.sent) == place + 1
        return found

    assert validating("--knee", "--trials", "3", sender=stopped) == 130
    assert len(validating.sent) == place + 1
    assert not validating.certificate.exists()
    assert "interrupted before its end" in capsys.readouterr().out


def test_a_sender_that_does_not_keep_up_ends_the_knee_with_what_held(
    validating: Validating, capsys: pytest.CaptureFixture[str]
) -> None:
    def sender(traffic: Traffic) -> Collected:
        too_fast = (traffic.rate_per_s or 0.0) > 100.0
        found = answered(traffic, 9.0 if too_fast else 0.1)
        found.lags_s = [0.3 if too_fast else 0.001] * 100
        return found

    assert (
        validating("--knee", "--knee-from", "50", "--at", "0.01", "--phase", "4s", sender=sender)
        == 0
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "The knee: at least 80 requests/s: at 128 requests/s TTFT p99 9 s, 5 s allowed, but "
        "the sender did not"
    ) in shown


def test_a_short_trace_is_sent_over_and_over_as_long_as_a_phase_is(
    validating: Validating, tmp_path: Path
) -> None:
    trace = tmp_path / "short.csv"
    trace.write_text(
        "arrival_s,input_tokens,output_tokens\n"
        + "".join(f"{place},100,20\n" for place in range(5))
    )
    assert (
        validating(
            "--trace", trace, "--knee", "--knee-from", "10", "--trials", "2", "--phase", "20s"
        )
        == 0
    )
    lasting = [traffic for traffic in validating.sent if "short.csv" in traffic.description]
    assert len(lasting) == 3
    for traffic in lasting[1:]:
        assert traffic.rows[-1].arrival_s == pytest.approx(20.0, rel=0.1)
    assert lasting[1].rate_per_s == pytest.approx(10.0)


def test_a_service_level_that_nobody_stated_is_not_said_to_be_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stated = load_tests.validation()
    unstated = replace(stated, slo=Slo())
    monkeypatch.setenv("COLUMNS", "140")
    assert " PASS  the engine meets its SLO" in rendered(stated, "table")
    assert "service level is stated (spec.slo" in rendered(unstated, "table")
    assert "meets its SLO" not in rendered(unstated, "table") + rendered(unstated, "html")
    failed = replace(load_tests.validation(good=False), slo=Slo())
    assert "meets its SLO" not in rendered(failed, "table")


@pytest.mark.parametrize("form", ["table", "json", "html", "junit"])
def test_limits_for_another_model_fail_before_anything_is_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: str,
) -> None:
    validating = Validating(tmp_path, monkeypatch)
    monkeypatch.setattr(load_inputs, "aimed", lambda _: OTHER)
    assert validating("-o", form) == 1
    assert validating.sent == []
    said = unbroken(capsys.readouterr().out)
    assert "the limits are for tiny, the engine serves chat" in said
    assert "meta-llama/Llama-3.1-8B-Instruct" in said
    assert json.loads(validating.certificate.read_text())["verdict"] == "fail"


def test_a_name_of_its_own_is_no_other_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    validating = Validating(tmp_path, monkeypatch)
    alias = replace(TARGET, model="chat", origins=("/mnt/models",))
    monkeypatch.setattr(load_inputs, "aimed", lambda _: alias)
    assert validating() == 0
    assert "whether that is tiny, as in the limits, is not known" in unbroken(
        capsys.readouterr().out
    )
