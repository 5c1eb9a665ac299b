"""What `-o wide` says: each thing once, in one screen or two; -o json has the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from barostat.core.verdict import Evidence
from barostat.shells.cli.main import main
from barostat.shells.reports.diagnosis.in_full import reasons_once, value_words

BUNDLES = Path(__file__).parents[4] / "data" / "bundles"
SCREENS = 114


def reported(
    name: str,
    form: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *more: str,
) -> str:
    monkeypatch.delenv("COLUMNS", raising=False)
    main(["diagnose", "--bundle", str(BUNDLES / name), "-o", form, *more])
    return capsys.readouterr().out


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["kv-preemption-thrash", "kv-admission-queueing", "hung-engine"])
def test_it_is_two_screens_and_no_sentence_stands_there_twice(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = reported(name, "wide", monkeypatch, capsys).splitlines()
    assert len(lines) <= SCREENS
    said = [
        line.split(": ", 1)[-1].strip()
        for line in lines
        if ": " in line and not re.search(r"than chance|tried$", line)
    ]
    long = [sentence for sentence in said if len(sentence) > 40]
    assert sorted(set(long)) == sorted(long)


@pytest.mark.sweep
def test_every_reading_stands_there_once_with_the_name_that_dashboards_know(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = reported("kv-preemption-thrash", "wide", monkeypatch, capsys)
    assert (
        "vllm:inter_token_latency_seconds: itl_p99_s 0.232 s, itl_mean_s 0.0208 s, "
        "itl_p50_s 0.0178 s\n"
    ) in text
    replica = json.loads(reported("kv-preemption-thrash", "json", monkeypatch, capsys))["replicas"][
        0
    ]
    signals = {
        item["signal"]
        for found in replica["symptoms"]
        if found["verdict"] == "Present"
        for item in found["evidence"]
    }
    assert signals
    assert [len(re.findall(rf"\b{signal} [\d.]", text)) for signal in sorted(signals)] == [1] * len(
        signals
    )


def test_what_needs_one_of_two_sources_names_both_and_a_reason_of_its_own_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(
        reported("kv-preemption-thrash", "wide", monkeypatch, capsys, "--no-trials").split()
    )
    assert (
        "without the card's state or the kernel's log: gpu-lost, gpu-xid, gpu-xid-software;" in text
    )
    assert "host-cpu-saturated: 1.7 of 1.8 cores are the engine's own" in text


def test_a_reason_without_a_figure_or_said_before_is_a_name() -> None:
    rows = [("a", "3 of 4 slots"), ("b", "no line about it"), ("c", "3 of 4"), ("d", "9 requests")]
    assert reasons_once(rows, {"of 9 requests none"}) == ([("a", "3 of 4 slots")], ["b", "c", "d"])


def test_a_value_has_its_unit_and_no_powers_of_ten() -> None:
    def words(value: float, unit: str) -> str:
        return value_words(Evidence("s", value, unit, 0.0, "x"))

    assert [words(0.914, "ratio"), words(2 * 2**30, "bytes"), words(2020.4, "tokens/s"), words(float("inf"), "s"), words(3, "count")] == [
        "91.4%", "2.00 GiB", "2,020 tokens/s", "inf, which is no quantity", "3",
    ]  # fmt: skip
