"""Nobody reads what is said any more: that is no reason to leave anything undone."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tests.unit.gateway.live_limits.test_limits_in_force import LEVER, in_force

from barostat.gateway.say import say


class Unread(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_line_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    say("all is well")
    assert capsys.readouterr().err == "barostat gateway: all is well\n"


def test_no_name_forges_a_line_or_floods_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    say("the limits are for m\nbarostat gateway: all is well\r\x1b[2K\u2028; " + "x" * 1_000_000)
    said = capsys.readouterr().err
    assert said.splitlines() == [said[:-1]]
    assert "\\nbarostat gateway: all is well\\r\\x1b[2K\\u2028" in said
    assert len(said) < 1200


def test_a_lease_ends_though_nobody_reads_that_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, told = in_force(tmp_path)
    monkeypatch.setattr(sys, "stderr", Unread())
    limits.put(LEVER, 100.0)
    limits.tick(111.0)
    assert limits.override is None
    assert told[-1].spec.request.max_output_tokens == 100
    limits.put(LEVER, 120.0)
    limits.take_back(121.0)
    limits.path.write_text("no limits")
    limits.reload(122.0)
    assert limits.override is None
