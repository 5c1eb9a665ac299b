"""From scrape to firing alert on a real Prometheus and Alertmanager, against live twins and a live
gateway: each cause brought about.

Every duration of the rules is a thirtieth of what it is (five minutes are ten seconds), rules are
evaluated twice a second, scrapes are a second apart: the expressions are the ones that are shipped,
their windows are not. The windows: tests/integration/test_alert_rules.py.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from dev.gateway_process import GatewayProcess
from dev.load import Background, Load
from dev.scenarios import scenario
from dev.twin_engine import TwinEngine
from tests.support.live_prometheus import LivePrometheus, needed

from barostat.alerts.groups import rules_of
from barostat.alerts.inhibitions import inhibit_rules
from barostat.alerts.named import alerts
from barostat.alerts.terms import Promised, Terms
from barostat.shells.cli.main import parser

PACE = 1 / 30
TERMS = Terms(
    promised=Promised(ttft_s=1.0, queue_s=3.0, pool_tokens=64 * 128, block_tokens=128), pace=PACE
)
POOL = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
QUICK = "base=0.005,decode=0.0001,prefill=0.00001"
SLOW = "base=0.5,decode=0.001,prefill=0.0001"
FEW = Load(clients=3, prompt_tokens=(50, 100), output_tokens=(20, 40), think_s=0.5)
CAUSES = {
    "BarostatPreempting": "thrash",
    "BarostatCapacityWaiting": "slots",
    "BarostatQueueAge": "slow",
    "BarostatSloFastBurn": "slow",
    "BarostatStalledTokens": "hung",
    "BarostatEngineDown": "killed",
    "BarostatEngineRefusals": "limited",
    "BarostatNotAsDeclared": "shrunk",
    "BarostatGatewayRefusals": "gated",
    "BarostatGatewayNoAnswers": "silent",
    "BarostatGatewayReplicaDown": "killed",
}
WITHIN_S = 120.0
"""For all of them, on a machine with much else to do; a quiet one needs half a minute."""


class Fleet:
    """The twins in their states, and the gateways, each in a namespace of its own name."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack, self._folder = stack, folder
        self.targets: list[tuple[str, str, dict[str, str]]] = []
        self._twins: list[tuple[TwinEngine, Load | None]] = []

    def twin(
        self,
        name: str,
        *flags: str,
        load: Load | None = None,
        latency: str = QUICK,
        options: tuple[str, ...] = (),
    ) -> TwinEngine:
        """A twin that starts, to be put under this load and scraped."""
        engine = self._stack.enter_context(
            TwinEngine(*(flags or POOL), latency=latency, options=options)
        )
        self.targets.append(
            ("vllm", f"127.0.0.1:{engine.port}", {"namespace": name, "pod": f"{name}-0"})
        )
        self._twins.append((engine, load))
        return engine

    def ready(self) -> None:
        """They all answer, and each is under its load."""
        for engine, load in self._twins:
            engine.wait_ready(within_s=90)
            if load is not None:
                self._stack.enter_context(Background(engine.url, load))

    def gateway(self, name: str, spec: str, upstream: str) -> GatewayProcess:
        """A gateway in front of that engine, to be scraped."""
        folder = self._folder / f"gateway-{name}"
        folder.mkdir()
        found = self._stack.enter_context(GatewayProcess(folder, spec, upstream))
        self.targets.append(("gateway", f"127.0.0.1:{found.admin_port}", {"namespace": name}))
        return found


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LivePrometheus, Fleet]]:
    needed()
    folder = tmp_path_factory.mktemp("live")
    with ExitStack() as stack:
        fleet = Fleet(stack, folder)
        thrash = scenario("kv-preemption-thrash").load
        assert thrash is not None
        fleet.twin("calm", load=FEW)
        fleet.twin("thrash", load=thrash, latency="base=0.005,prefill=0.00002,decode=0.0004")
        fleet.twin(
            "slots",
            *POOL[:-1],
            "4",
            load=Load(clients=24, prompt_tokens=(50, 100), output_tokens=(80, 160)),
        )
        fleet.twin(
            "slow",
            *POOL[:-1],
            "2",
            load=Load(clients=16, prompt_tokens=(50, 100), output_tokens=(4, 6)),
            latency=SLOW,
        )
        fleet.twin(
            "hung",
            load=Load(clients=4, prompt_tokens=(50, 100), output_tokens=(60, 90)),
            options=("--fault", "hang@12s"),
        )
        fleet.twin(
            "limited",
            *POOL[:-1],
            "4",
            "--max-num-queued-reqs",
            "6",
            load=Load(clients=20, output_tokens=(80, 160), think_s=0.2),
        )
        fleet.twin("shrunk", *POOL[:3], "40", *POOL[4:], load=FEW)
        killed = fleet.twin("killed")
        silent = fleet.twin("silent", options=("--fault", "hang@4s"))
        gated = fleet.twin("gated", latency=SLOW)
        fleet.ready()
        small = (
            "request: {maxOutputTokens: 400}\nengine: {maxQueuedRequests: 2}\nedge: "
            "{kvTokenBudget: 2000, queueDeadlineSeconds: 1}"
        )
        gates = fleet.gateway("gated", small, gated.url)
        waits = fleet.gateway("silent", "request: {maxOutputTokens: 400}", silent.url)
        fleet.gateway("killed", "request: {maxOutputTokens: 400}", killed.url)
        stack.enter_context(
            Background(
                gates.url,
                Load(clients=16, prompt_tokens=(50, 100), output_tokens=(200, 300), think_s=0.3),
            )
        )
        rules = rules_of(replace(TERMS, workload=""))
        prometheus = stack.enter_context(
            LivePrometheus(folder, fleet.targets, rules.groups, inhibit_rules(alerts()))
        )
        prometheus.until(
            lambda: len(prometheus.asked("up == 1")) == len(fleet.targets), 60, "every target up"
        )
        asking = threading.Thread(target=_ask, args=(waits.url,), daemon=True)
        asking.start()
        killed.stop()
        yield prometheus, fleet


def _ask(url: str) -> None:
    """A request that is never answered."""
    body = {"model": "tiny", "prompt": [5] * 20, "max_tokens": 20}
    try:
        httpx.post(url + "/v1/completions", json=body, timeout=300)
    except httpx.HTTPError:
        return


@pytest.mark.parametrize("alert", CAUSES)
def test_it_fires_where_its_cause_is(alert: str, live: tuple[LivePrometheus, Fleet]) -> None:
    prometheus, _ = live
    prometheus.until(lambda: (alert, CAUSES[alert]) in prometheus.firing(), WITHIN_S, alert)


def test_nothing_fires_where_nothing_is_wrong(live: tuple[LivePrometheus, Fleet]) -> None:
    prometheus, _ = live
    prometheus.until(
        lambda: len(prometheus.firing()) >= len(CAUSES), WITHIN_S, "as many alerts as causes"
    )
    assert not [alert for alert, namespace in prometheus.firing() if namespace == "calm"]
    assert not prometheus.asked(
        'count_over_time(ALERTS{namespace="calm",alertstate="firing"}[10m])'
    )


def test_one_incident_is_one_page(live: tuple[LivePrometheus, Fleet]) -> None:
    """Alertmanager, given the inhibitions, sends at most one critical alert per workload, and of
    the thrashing one its cause.
    """
    prometheus, _ = live
    test_nothing_fires_where_nothing_is_wrong(live)

    def once_each() -> bool:
        told = [workload for _, workload in prometheus.paging()]
        return (
            len(told) == len(set(told))
            and ("BarostatPreempting", "thrash/tiny") in prometheus.paging()
        )

    prometheus.until(once_each, 60, "one page per workload")
    assert ("BarostatStalledTokens", "hung/tiny") in prometheus.paging()


def test_the_words_are_filled_in_and_the_next_command_is_one(
    live: tuple[LivePrometheus, Fleet],
) -> None:
    prometheus, _ = live
    found = httpx.get(prometheus.url + "/api/v1/alerts", timeout=10).json()["data"]["alerts"]
    assert len(found) >= len(CAUSES)
    for alert in found:
        words = alert["annotations"]
        assert not [
            text for text in words.values() if "error expanding" in text or "no value" in text
        ], words
        _, _, command = words["description"].partition("Next: barostat ")
        verb, *rest = shlex.split(command)
        assert parser(verb).parse_args([verb, *rest])
