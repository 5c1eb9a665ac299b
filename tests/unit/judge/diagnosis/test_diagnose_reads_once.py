"""However many look at a scrape, its text is read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.engines.vllm.metrics import exposition
from barostat.judge.evidence import recording
from barostat.shells.cli.main import main

BUNDLE = Path(__file__).parents[3] / "data" / "bundles" / "kv-preemption-thrash"


@pytest.mark.parametrize("form", ["html", "json", "table"])
def test_every_scrape_is_read_once(form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    read: list[int] = []

    def counted(text: str) -> exposition.Exposition:
        read.append(len(text))
        return exposition.read(text)

    monkeypatch.setattr(recording, "read", counted)
    untried = [] if form == "table" else ["--no-trials"]  # trials read nothing more: once is enough to see that
    assert main(["diagnose", "--bundle", str(BUNDLE), "-o", form, *untried]) == 1
    assert "kv-preemption-thrash" in capsys.readouterr().out
    assert len(read) == len(list(BUNDLE.glob("metrics/*/*.prom"))) > 1
