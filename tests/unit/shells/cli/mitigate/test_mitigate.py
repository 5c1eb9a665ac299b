"""`barostat mitigate` as a person calls it, on a little Kubernetes."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation.campaign import Campaign
from barostat.shells.cli.mitigate import mitigate
from barostat.shells.cli.mitigate.common_arguments import REFUSED


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    mitigate.add_parser(parser.add_subparsers())
    found = parser.parse_args(["mitigate", f"deploy/{HOME}", *words])
    found.requested = None
    return found


def denied(found: Scene) -> None:
    """No right to write."""
    answer = found.api.answer

    def without(method: str, target: str, body: Any) -> Any:
        if "selfsubjectaccessreviews" in target:
            verb = body["spec"]["resourceAttributes"]["verb"]
            return 201, {**body, "status": {"allowed": verb in ("get", "list")}}
        return answer(method, target, body)

    found.api.answer = without  # type: ignore[method-assign]


@pytest.mark.parametrize("words", [("--yes",), ("--autonomy", "act"), ("--dry-run",)])
def test_a_role_without_rights_is_refused_before_the_look(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    async def go(found: Scene) -> int:
        denied(found)
        campaign = Campaign(
            by(Cluster(ACCESS), found.api),
            NAMESPACE,
            HOME,
            Options(for_s=2.0, interval_s=1.0),
            SteadyClock(),
            found.told.append,
        )
        code = await mitigate.carry_out_for(campaign, arguments(*words))
        scraped = [target for _, target in found.api.asked if target.endswith("/metrics")]
        assert bool(scraped) is ("--dry-run" in words)
        return code

    code = on_a_little_kubernetes(go)
    if "--dry-run" not in words:
        assert code == REFUSED
        said = capsys.readouterr().out
        assert said.startswith("refused before looking: rights are missing: patch deployments.apps")
