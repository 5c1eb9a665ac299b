"""However many look at a scrape, its text is read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.engines.vllm.metrics import exposition
from barostat.judge.evidence import recording
from barostat.shells.cli.main import main

BUNDLES = Path(__file__).parents[3] / "data" / "bundles"


@pytest.mark.parametrize(
    ("form", "cause", "trials"),
    [
        ("html", "kv-preemption-thrash", ["--no-trials"]),
        ("json", "kv-preemption-thrash", ["--no-trials"]),
        ("table", "prefill-bound", []),  # trials read nothing more
    ],
)
def test_every_scrape_is_read_once(
    form: str,
    cause: str,
    trials: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    read: list[int] = []

    def counted(text: str) -> exposition.Exposition:
        read.append(len(text))
        return exposition.read(text)

    monkeypatch.setattr(recording, "read", counted)
    assert main(["diagnose", "--bundle", str(BUNDLES / cause), "-o", form, *trials]) == 1
    assert cause in capsys.readouterr().out
    assert len(read) == len(list((BUNDLES / cause).glob("metrics/*/*.prom"))) > 1
