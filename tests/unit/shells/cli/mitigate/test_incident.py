"""`barostat incident show`: the record with what was measured, in each form; what of that is
missing is said.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.support.remedy_runs import Scene, on_a_little_kubernetes

from barostat.remedy.state import State
from barostat.shells.cli.mitigate.incident import list_incidents, show


def test_it_is_shown_in_each_form_and_what_is_missing_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def go(found: Scene) -> None:
        campaign = found.campaign()
        assert await found.run(State(found.plan())) is not None
        data, shown = found.kube.objects["configmaps", "incident-i1"]["data"], {}
        for form in ("md", "html", "json"):
            assert await show(campaign, "i1", form) == 0
            shown[form] = capsys.readouterr().out
        assert "| after |" in shown["md"]
        assert "<figcaption>KV usage" in shown["html"]
        assert json.loads(shown["json"])["seen"] == json.loads(data["seen.json"])
        data["seen.json"] = "{half"
        for form in ("md", "html"):
            assert await show(campaign, "i1", form) == 0
            assert (
                "What was measured cannot be read: seen.json: is no JSON" in capsys.readouterr().out
            )
        assert await show(campaign, "i1", "json") == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["seen"] is None
        assert "What was measured cannot be read" in said.err

    on_a_little_kubernetes(go)


def test_a_list_shows_the_phase_of_now_and_takes_every_namespace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The record says Draining all through the verification, which writes nothing."""

    async def go(found: Scene) -> None:
        campaign = found.campaign()
        task = asyncio.create_task(found.run(State(found.plan())))
        while not any("Verifying" in line for line in found.told):
            await asyncio.sleep(1.0)
        await asyncio.sleep(20.0)
        assert (await found.recorded()).phase == "Draining"
        for everywhere in (False, True):
            assert await list_incidents(campaign, "table", everywhere=everywhere) == 0
            assert "  Verifying  " in capsys.readouterr().out
        assert await list_incidents(campaign, "json") == 0
        assert json.loads(capsys.readouterr().out)["incidents"][0]["phase"] == "Verifying"
        assert any(
            line.startswith("waiting for Observe: until ") and line.endswith(" s) at most")
            for line in found.told
        )
        assert await task is not None
        assert await list_incidents(campaign, "table") == 0
        assert "  Done  " in capsys.readouterr().out

    on_a_little_kubernetes(go)
