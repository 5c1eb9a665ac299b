"""Two replicas behind the gateway, a step into thrash: `mitigate` ends it at the gateway within
seconds, and takes it back with the load.

The gateway follows the Deployment's pods and only watches (--shadow) until then, as it stands in a
cluster that tries it out.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev.cluster import workloads
from dev.cluster.client import Workspace
from dev.cluster.images import TWIN_IMAGE
from dev.load import Background, Load
from tests.cluster.spent import told
from tests.cluster.test_mitigate import (
    LEVER,
    SERVE,
    Pooled,
    Preempting,
    incidents,
    mitigate,
    preempted,
)

from barostat.engines.vllm.metrics.exposition import read
from barostat.engines.vllm.metrics.quantiles import Histogram, histogram, quantile

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "rbac" / "gateway.yaml"
TOKEN = "a-token-for-tests"
LIMITS = """\
apiVersion: barostat.dev/v1alpha1
kind: ServingLimits
spec:
  request: {maxOutputTokens: 512}
  slo: {ttftP99Seconds: 60}
"""
QUICK = ("--for", "10s", "--interval", "2s", "--sustained", "15s")
PACED = (
    "--kv-blocks",
    "128",
    "--latency",
    "base=0.04,decode=0.001,prefill=0.0003",
    "--start-time",
    "12",
)
"""Most of a step is the same whatever is in it, as on a GPU."""
STEP = Load(prompt_tokens=(20, 45), output_tokens=(100, 190), rate_per_s=5.0)
"""Its tokens need 23 requests at once on each of two; a pool holds 20."""
CARRIED = replace(STEP, rate_per_s=2.0)
# Clients that wait for their answers press an engine on any machine, or leave it calm; a rate would
# have to be its own.
REAL_STEP = Load(clients=48, prompt_tokens=(500, 900), output_tokens=(250, 450))
REAL_CARRIED = replace(REAL_STEP, clients=12)
ENGINE_CPU = "700m"
REAL_FLAGS = ("--max-model-len", "2048", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
GAPS = "vllm:inter_token_latency_seconds_bucket"
GAP_RATIO = 1.5
"""Of the 99th percentile of gaps, over that of engines under a load that they carry."""
VOLUMES = (
    {"name": "limits", "configMap": {"name": "gateway-limits"}},
    {"name": "admin", "secret": {"secretName": "gateway-admin"}},
)
REFUSALS = ("429", "503")


def gateway(namespace: str, engines: str) -> list[Any]:
    """The gateway before the engines, with its rights, as deploy/gateway/embedded has it."""
    roles = yaml.safe_load_all(
        ROLES.read_text().replace("namespace: inference", f"namespace: {namespace}")
    )
    labels = {"app": "gateway"}
    arguments = [
        f"deploy/{engines}", "--limits=/etc/barostat/limits.yaml", "--host=0.0.0.0", "--port=8080", "--admin-host=0.0.0.0",
        "--admin-port=8081", "--admin-token-file=/etc/admin/token", "--shadow", "--drain-timeout=5",
    ]  # fmt: skip
    container = {
        "name": "barostat", "image": TWIN_IMAGE, "imagePullPolicy": "Never", "command": ["barostat", "gateway"], "args": arguments,
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 8081}],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 1, "timeoutSeconds": 10},
        "resources": {"requests": {"cpu": "5m", "memory": "32Mi"}, "limits": {"memory": "512Mi"}},
        "volumeMounts": [{"name": "limits", "mountPath": "/etc/barostat"}, {"name": "admin", "mountPath": "/etc/admin"}],
    }  # fmt: skip
    pod = {
        "serviceAccountName": "barostat-gateway", "terminationGracePeriodSeconds": 10, "containers": [container],
        "volumes": [*VOLUMES],
    }  # fmt: skip
    template = {"metadata": {"labels": labels}, "spec": pod}
    return [
        *roles,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gateway-limits"}, "data": {"limits.yaml": LIMITS}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gateway-admin"}, "stringData": {"token": TOKEN}},
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "gateway", "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        },
        {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "gateway"},
            "spec": {"selector": labels, "ports": [{"port": 8000, "targetPort": 8080}]},
        },
    ]  # fmt: skip


def paced_vllm(model: tuple[str, ...]) -> list[workloads.Manifest]:
    """Two engines that leave the control plane, which runs on this machine as well, a part of its
    processors.
    """
    made = workloads.vllm(replicas=2, model=model, flags=REAL_FLAGS)
    pod = workloads.only(made, "Deployment")["spec"]["template"]["spec"]
    pod["containers"][0]["resources"]["limits"]["cpu"] = ENGINE_CPU
    return made


def set_up(space: Workspace, engines: str = "twin") -> str:
    """Two replicas behind the gateway; its address."""
    model = ("/models/small", *workloads.MODEL_FLAGS[1:])
    twins = workloads.twin(replicas=2, flags=PACED, serve=SERVE)
    space.apply(
        [
            *(twins if engines == "twin" else paced_vllm(model)),
            *gateway(space.namespace, engines),
        ]
    )
    space.wait_ready(f"deploy/{engines}")
    space.wait_ready("deploy/gateway")
    return space.url("gateway")


@contextmanager
def thrashing(
    space: Workspace, url: str, load: Load = STEP, engines: str = "twin"
) -> Iterator[Background]:
    """The load that thrashes both comes through the gateway."""
    with Background(url, load, for_s=2400.0) as coming:
        space.until(
            "both are preempting",
            lambda: min(preempted(space, f"app={engines}").values()) > 10,
            within_s=150,
        )
        yield coming


def gaps(space: Workspace, engines: str) -> Histogram:
    """Gaps between tokens of both replicas so far."""
    pages = [read(space.metrics(pod.name)) for pod in space.pods(f"app={engines}")]
    found = histogram(
        (sample.labels, sample.value) for page in pages for sample in page.named(GAPS)
    )
    assert found is not None
    return found


def gap_p99_s(space: Workspace, engines: str, for_s: float) -> float:
    """The 99th percentile of the gaps in the time to come."""
    before = gaps(space, engines)
    time.sleep(for_s)
    since = gaps(space, engines).minus(before)
    assert since is not None
    found = quantile(since, 0.99)
    assert found is not None
    return found.value


def at_the_gateway(space: Workspace) -> dict[str, Any]:
    """What the gateway holds."""
    (pod,) = space.pods("app=gateway")
    path = f"/api/v1/namespaces/{space.namespace}/pods/{pod.name}:8081/proxy/limits"
    found: dict[str, Any] = json.loads(space.as_person("observer")("get", "--raw", path))
    return found


@pytest.fixture
def token(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return str(path)


class Mitigation:
    """`barostat mitigate --autonomy act` as a process. `log`: what it has told, with when."""

    def __init__(
        self,
        space: Workspace,
        token: str,
        *words: str,
        verb: str = "mitigate",
        target: str = "deploy/twin",
    ) -> None:
        self.began = time.monotonic()
        command = [sys.executable, "-m", "barostat", verb, *([target] if target else []), *words]
        command += [
            "-n",
            space.namespace,
            "--kubeconfig",
            str(space.cluster.kubeconfig("operator")),
            "--gateway-token-file",
            token,
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.log: list[tuple[float, str]] = []

    def until(self, begins: str, within_s: float = 120.0) -> float:
        """When it told a line that begins so, by time.monotonic()."""
        assert self.process.stdout is not None
        asked_at = time.monotonic()
        for line in self.process.stdout:
            self.log.append((time.monotonic(), line.rstrip()))
            if line.startswith(begins):
                return self.log[-1][0]
            assert time.monotonic() - asked_at < within_s, self.told
        raise AssertionError(self.told)

    @property
    def told(self) -> str:
        """All of it."""
        return "\n".join(f"{at - self.began:6.1f} {line}" for at, line in self.log)

    def kill(self) -> None:
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        """Its exit code, when it has ended by itself."""
        assert self.process.stdout is not None
        self.log += [(time.monotonic(), line.rstrip()) for line in self.process.stdout]
        return self.process.wait()


@pytest.mark.alone
@pytest.mark.parametrize("engines", ["twin", pytest.param("vllm", marks=pytest.mark.long)])
def test_a_thrash_ends_at_the_gateway_and_the_limit_goes_with_the_load(
    engines: str,
    space: Workspace,
    token: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if engines == "vllm":
        request.getfixturevalue("real_vllm")
    carried, step = (CARRIED, STEP) if engines == "twin" else (REAL_CARRIED, REAL_STEP)
    url, selector = set_up(space, engines), f"app={engines}"
    with Background(url, carried):
        time.sleep(10.0)
        calm_p99_s = gap_p99_s(space, engines, 20.0)
        assert not any(preempted(space, selector).values())
    with thrashing(space, url, step, engines) as load:
        stepped, before_spec = time.monotonic(), space.get(f"deploy/{engines}")["spec"]
        run = Mitigation(space, token, "--autonomy", "act", *QUICK, target=f"deploy/{engines}")
        held_at = run.until("TightenGateway")
        before, quiet_since = preempted(space, selector), time.monotonic()
        while time.monotonic() - quiet_since < 10.0:
            time.sleep(0.5)
            if (now := preempted(space, selector)) != before:
                before, quiet_since = now, time.monotonic()
            assert time.monotonic() - stepped < 240.0, run.told
        after_p99_s = gap_p99_s(space, engines, 15.0)
        run.until("Holding", within_s=300.0)
        assert at_the_gateway(space)["shadow"] is False
        under_way = dict(load.counts.failed)
    code = run.end()
    with capsys.disabled():
        print(
            f"\nheld {held_at - stepped:.1f} s after both had begun to preempt, none "
            f"{quiet_since - stepped:.1f} s after"
        )
        print(
            f"gap p99 {after_p99_s * 1e3:.0f} ms, {calm_p99_s * 1e3:.0f} ms under a load "
            "that they carry"
        )
        print(load.counts.summary())
        print(run.told)
    assert code == 0
    assert quiet_since - stepped <= 90.0
    assert after_p99_s <= GAP_RATIO * calm_p99_s
    assert all(any(code in why for code in REFUSALS) for why in under_way), under_way
    found = at_the_gateway(space)
    assert (found["override"], found["shadow"]) == (None, True)
    (incident,) = incidents(space)
    assert (incident["phase"], incident["plan"]["strategy"]) == ("Done", "edge-live")
    assert space.get(f"deploy/{engines}")["spec"] == before_spec


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.usefixtures("real_vllm")
def test_clients_that_keep_their_connection_lose_nothing_while_real_engines_are_replaced(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gateway keeps the clients' connections and sends each request to a replica in rotation."""
    url, selector = set_up(space, "vllm"), "app=vllm"
    shape = (REAL_STEP.prompt_tokens, REAL_STEP.output_tokens)
    with Pooled(url, REAL_STEP.clients, *shape) as kept:
        space.until(
            "both are preempting", lambda: min(preempted(space, selector).values()) > 10, 240
        )
        with Preempting(space, selector) as harm:
            words = ("--for", "15s", "--sustained", "30s", "--drain", "5m")
            code = mitigate(
                space, "--autonomy", "act", *LEVER, *words, person="operator", target="deploy/vllm"
            )
            printed = capsys.readouterr().out
            time.sleep(30.0)
    records = incidents(space)
    with capsys.disabled():
        print(
            f"\n{kept.answered} answered, {kept.refused} refused, {kept.parted} parted; {kept.why}"
        )
        print(f"the last preemption {harm.last_at - harm.began:.0f} s after both preempted")
        print("\n".join(told(one) for one in records), printed, sep="\n")
    assert code == 0
    (record,) = records
    assert (record["phase"], record["cause"]) == ("Done", "kv-preemption-thrash")
    assert time.monotonic() - harm.last_at > 25.0
    assert kept.refused + kept.parted <= record["progress"].get("cut", {}).get("requests", 0)


@pytest.mark.long
def test_either_side_killed_at_every_act(
    space: Workspace, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """kill -9 of mitigate: the limit runs out by itself, and another run goes on. kill -9 of the
    gateway: the limit is put anew.
    """
    with thrashing(space, set_up(space)) as load:
        run = Mitigation(space, token, "--autonomy", "act", *QUICK)
        run.until("Changing")
        run.kill()
        (incident,) = incidents(space)
        for told in ("TightenGateway", "Verifying", "Holding"):
            run = Mitigation(space, token, "resume", incident["id"], verb="incident", target="")
            run.until(told, within_s=200)
            run.kill()
            assert (at_the_gateway(space)["override"] or {}).get("holder") == incident["id"], (
                told,
                run.told,
            )
        space.until(
            "the limit has run out", lambda: at_the_gateway(space)["override"] is None, within_s=75
        )
        run = Mitigation(space, token, "resume", incident["id"], verb="incident", target="")
        run.until("ClaimHome", within_s=200)
        space.until(
            "the limit is held again",
            lambda: at_the_gateway(space)["override"] is not None,
            within_s=60,
        )
        (pod,) = space.pods("app=gateway")
        space.kubectl("delete", f"pod/{pod.name}", "--force", "--grace-period=0")
        space.until(
            "there is a new one",
            lambda: [found.name for found in space.pods("app=gateway")] not in ([], [pod.name]),
            60,
        )
        space.wait_ready("deploy/gateway")
        space.until(
            "it holds the limit, too",
            lambda: at_the_gateway(space)["override"] is not None,
            within_s=60,
        )
        run.until("Holding", within_s=400)
        under_way = dict(load.counts.failed)
    code = run.end()
    with capsys.disabled():
        print("\n" + run.told + "\n" + load.counts.summary(), under_way)
    assert code == 0, run.told
    assert at_the_gateway(space)["override"] is None
    assert [found["phase"] for found in incidents(space)] == ["Done"]
