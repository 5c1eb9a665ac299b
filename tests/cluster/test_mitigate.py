"""`barostat mitigate` on a real cluster: pressure ends and no request is lost, what does not help
is taken back, some things are refused.

The load comes whether or not it is answered, over a connection for each request, through the
Service as kube-proxy routes it.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import httpx
import pytest
from dev.cluster import workloads
from dev.cluster.client import Workspace
from dev.cluster.kubectl import KubectlError
from dev.load import Background, Load
from tests.cluster.spent import told

from barostat.shells.cli.main import main

# A pool of 2,048 tokens, where some 180 tokens a request are wanted at once by more than fit; a
# start that takes a while, as engines do.
PRESSED = (
    "--kv-blocks",
    "128",
    "--latency",
    "base=0.002,decode=0.0035,prefill=0.001",
    "--start-time",
    "12",
)
SERVE = ("--max-model-len", "1024", "--max-num-seqs", "64")
QUICK = ("--for", "20s", "--sustained", "30s", "--drain", "2m")
LEVER = ("--lever", "max-num-active-seqs")


def pressed_twins(
    space: Workspace,
    *,
    rate_per_s: float,
    replicas: int = 2,
    gpus: int = 0,
    flags: Sequence[str] = PRESSED,
    **metadata: Any,
) -> Background:
    """Two twins behind a Service, under a load that thrashes them; nothing is sent before the block
    is entered.
    """
    manifests = workloads.twin(replicas=replicas, flags=flags, serve=SERVE, gpus=gpus)
    for key, found in metadata.items():
        workloads.only(manifests, "Deployment")["metadata"].setdefault(key, {}).update(found)
    space.apply(manifests)
    space.wait_ready("deploy/twin")
    return Background(
        space.url("twin"),
        Load(prompt_tokens=(20, 45), output_tokens=(100, 190), rate_per_s=rate_per_s),
        for_s=2400.0,
    )


class Pooled:
    """Clients that keep their connection and ask again when they are answered. `answered`,
    `refused`: what came of it; `why`: of those refused.

    `parted`: how often the next request was answered over another connection although nothing had
    been refused: the pod went between two.
    """

    def __init__(
        self,
        url: str,
        clients: int,
        prompt_tokens: tuple[int, int] = (32, 32),
        output_tokens: tuple[int, int] = (100, 190),
    ) -> None:
        self.answered = self.refused = self.parted = 0
        self.why: Counter[str] = Counter()
        self._url, self._stop = url, threading.Event()
        self._prompt_tokens, self._output_tokens = prompt_tokens, output_tokens
        self._threads = [
            threading.Thread(target=self._ask, args=(seed,), daemon=True) for seed in range(clients)
        ]

    def _ask(self, seed: int) -> None:
        dice = random.Random(seed)
        connection: Any = None
        with httpx.Client(base_url=self._url, timeout=300) as client:
            while not self._stop.is_set():
                asked = {
                    "model": "tiny",
                    "prompt": dice.choices(range(5, 999), k=dice.randint(*self._prompt_tokens)),
                    "max_tokens": dice.randint(*self._output_tokens),
                    "ignore_eos": True,
                }
                try:
                    with client.stream("POST", "/v1/completions", json=asked) as answer:
                        last, connection = (
                            connection,
                            answer.extensions["network_stream"].get_extra_info("client_addr"),
                        )
                        answer.raise_for_status()
                        answer.read()
                    self.answered += 1
                    self.parted += last not in (None, connection)
                except httpx.HTTPError as error:
                    self.refused += 1
                    self.why[str(error) or type(error).__name__] += 1
                    connection = None
                    self._stop.wait(0.5)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)


class Preempting:
    """Watches preemptions while it is entered. `last_at`: when the last one was seen, by
    time.monotonic().
    """

    EVERY_S = 3.0

    def __init__(self, space: Workspace, selector: str) -> None:
        self.began = self.last_at = time.monotonic()
        self._space, self._selector, self._stop = space, selector, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        known: dict[str, float] = {}
        while not self._stop.wait(self.EVERY_S):
            with contextlib.suppress(KubectlError, AssertionError):  # a pod that comes or goes
                now = preempted(self._space, self._selector)
                if any(count > known.get(name, 0.0) for name, count in now.items()):
                    self.last_at = time.monotonic()
                known |= now

    def __enter__(self) -> Self:
        self.began = self.last_at = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)


def mitigate(
    space: Workspace,
    *words: str,
    person: str = "admin",
    verb: str = "mitigate",
    target: str = "deploy/twin",
) -> int:
    return main(
        [
            verb,
            target,
            "-n",
            space.namespace,
            "--kubeconfig",
            str(space.cluster.kubeconfig(person)),
            *words,
        ]
    )


def preempted(space: Workspace, selector: str = "") -> dict[str, float]:
    found = {}
    for pod in space.pods(selector):
        counted = re.search(
            r"^vllm:num_preemptions_total\{[^}]*\} ([0-9.e+]+)",
            space.metrics(pod.name),
            re.MULTILINE,
        )
        assert counted is not None
        found[pod.name] = float(counted[1])
    return found


def incidents(space: Workspace) -> list[dict[str, Any]]:
    found = space.kubectl.json("get", "configmaps", "-l", "barostat.dev/record=true")["items"]
    return [json.loads(item["data"]["incident.json"]) for item in found]


def our_events(space: Workspace) -> list[dict[str, Any]]:
    return [
        event
        for event in space.get("events")
        if event.get("source", {}).get("component") == "barostat"
    ]


def nothing_of_ours_is_left(space: Workspace, name: str = "twin") -> None:
    """No spare, no claim, nothing of ours on a pod; home is whole."""
    assert [item["metadata"]["name"] for item in space.get("deployments")] == [name]
    marks = space.get(f"deploy/{name}")["metadata"].get("annotations", {})
    assert not {"barostat.dev/claim", "barostat.dev/former"} & set(marks)
    space.until(
        "only home's pods", lambda: all(pod.name.startswith(f"{name}-") for pod in space.pods()), 60
    )
    # who was the first to go keeps its mark until it has gone
    space.until(
        "nobody is on the way out",
        lambda: not any("deletionTimestamp" in pod.object["metadata"] for pod in space.pods()),
        60,
    )
    on_pods = {
        mark for pod in space.pods() for mark in pod.object["metadata"].get("annotations", {})
    }
    assert not {"barostat.dev/labels", "controller.kubernetes.io/pod-deletion-cost"} & on_pods
    assert all(
        pod.is_ready and pod.object["metadata"].get("ownerReferences") for pod in space.pods()
    )


@pytest.mark.long
def test_pressure_ends_and_no_request_is_lost(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pressed_twins(space, rate_per_s=4.0) as load:
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        code = mitigate(space, "--autonomy", "act", *QUICK, person="operator")
        (incident,) = incidents(space)
        with capsys.disabled():
            print(f"\n{told(incident)}")
        assert (code, incident["phase"]) == (0, "Done")
        assert incident["cause"] == "kv-preemption-thrash"
        args = space.get("deploy/twin")["spec"]["template"]["spec"]["containers"][0]["args"]
        assert "--max-num-active-seqs" in args
        nothing_of_ours_is_left(space)
        assert len(space.ready_addresses("twin")) == 2
        settled = preempted(space)
        time.sleep(20)
        assert preempted(space) == settled
        assert load.counts.failed == {}
    limits = space.get("configmap/twin-limits")["data"]["limits.yaml"]
    assert "maxNumActiveSeqs" in limits
    reasons = {event["reason"] for event in space.get("events")}
    assert {"BarostatPreparing", "BarostatVerifying", "BarostatDone"} <= reasons


@pytest.mark.long
def test_what_does_not_help_is_taken_back(space: Workspace) -> None:
    with pressed_twins(space, rate_per_s=4.0) as load:
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        before = space.get("deploy/twin")["spec"]
        # More slots than ever run change nothing.
        assert (
            mitigate(
                space, "--autonomy", "act", "--lever", "max-num-seqs=60", *QUICK, person="operator"
            )
            == 1
        )
        (incident,) = incidents(space)
        assert (incident["phase"], incident["undo"]) == ("RolledBack", [])
        assert space.get("deploy/twin")["spec"] == before
        nothing_of_ours_is_left(space)
        assert load.counts.failed == {}


def test_what_may_not_be_done_is_refused_with_the_reason(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pressed_twins(space, rate_per_s=4.0, gpus=1):
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        deployment = space.get("deploy/twin")
        assert mitigate(space, "--autonomy", "act", *QUICK, person="observer") == 5
        assert f"patch deployments.apps in {space.namespace}" in capsys.readouterr().out
        space.kubectl("annotate", "deploy/twin", "meta.helm.sh/release-name=chat")
        assert mitigate(space, "--yes", *LEVER, *QUICK) == 5
        told = capsys.readouterr().out
        assert "Helm release chat" in told
        assert "--max-num-active-seqs" in told
        space.kubectl("annotate", "deploy/twin", "meta.helm.sh/release-name-")
        blocker = workloads.only(workloads.twin("blocker", gpus=1), "Deployment")
        space.apply([blocker])
        space.wait_ready("deploy/blocker")
        assert mitigate(space, "--autonomy", "act", *LEVER, *QUICK) == 5
        assert "no node takes a spare replica" in capsys.readouterr().out
        assert mitigate(space, "--in-place", "--dry-run", *LEVER, *QUICK) == 0
        told = capsys.readouterr().out
        assert "in place: one replica less" in told
        assert "+    - --max-num-active-seqs" in told
        assert {incident["phase"] for incident in incidents(space)} <= {"Refused"}
        # Nobody is there to say yes: all is shown, and nothing is written, not even that nobody
        # said it.
        written = len(incidents(space)), len(our_events(space))
        assert mitigate(space, "--in-place", *LEVER, *QUICK) == 5
        assert "+    - --max-num-active-seqs" in capsys.readouterr().out
        assert (len(incidents(space)), len(our_events(space))) == written
        assert space.get("deploy/twin")["spec"] == deployment["spec"]


@pytest.mark.long
def test_clients_that_keep_their_connection_are_cut_once_for_each_pod_that_goes(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    clients = 3
    with pressed_twins(space, rate_per_s=3.6) as load, Pooled(space.url("twin"), clients) as kept:
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        # An established connection goes on when its pod is out of rotation: only the end of the
        # wait parts them.
        assert mitigate(space, "--autonomy", "act", *QUICK[:-1], "90s", person="operator") == 0
        nothing_of_ours_is_left(space)  # the last pod cuts what it has only as it goes
        (incident,) = incidents(space)
        told = [
            entry["detail"]
            for entry in incident["timeline"]
            if re.search(r"at most \d+ requests? w", entry["detail"])
        ]
        gone = sum(entry["event"] in ("DeletePod", "DeleteSpare") for entry in incident["timeline"])
        with capsys.disabled():
            print(
                f"\n{kept.answered} answered, {kept.refused} refused, {kept.parted} parted "
                f"between two requests; {gone} pods went; "
                f"told: {told}; the others: {load.counts.summary()}"
            )
        # Who is told of lost either its answer, or, answered at the last moment, its connection.
        # One that was between two requests when its pod went may be refused and is not told of.
        most = sum(
            int(found)
            for detail in told
            for found in re.findall(r"at most (\d+) requests? w", detail)
        )
        assert most <= kept.refused + kept.parted <= clients * gone
        assert told
        assert load.counts.failed == {}
