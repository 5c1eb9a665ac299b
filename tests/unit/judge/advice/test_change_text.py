"""Each proposed change in the words that reports and JSON have for it."""

from __future__ import annotations

import pytest

from barostat.core.diagnosis import Expected, NextStep, StepForecast, Trials
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import (
    Advise,
    EditPodSpec,
    ProposedChange,
    Restart,
    RollBack,
    Scale,
    SetCpu,
    SetEdgeLimit,
    SetEnvironment,
    SetFlag,
    SetMemory,
    SetServiceLinks,
    SetSharedMemory,
    SetStartupProbe,
    UnsetFlag,
)
from barostat.core.prose import Prose
from barostat.judge.advice.change_text import as_set_option, as_written, price_of

CHAT = ObjectReference("deployment", "chat", "prod")


@pytest.mark.parametrize(
    ("change", "written", "option"),
    [
        (SetFlag("max_num_seqs", 48), "--max-num-seqs 48", "max-num-seqs=48"),
        (SetFlag("watermark", 0.05), "--watermark 0.05", "watermark=0.05"),
        (SetFlag("swap_space", 8.0), "--swap-space 8", "swap-space=8"),
        (
            SetFlag("enable_prefix_caching", True),
            "--enable-prefix-caching",
            "enable-prefix-caching=true",
        ),
        (
            SetFlag("enable_prefix_caching", False),
            "--no-enable-prefix-caching",
            "enable-prefix-caching=false",
        ),
        (
            UnsetFlag("num_gpu_blocks_override", 64),
            "remove --num-gpu-blocks-override (now 64)",
            "num-gpu-blocks-override=off",
        ),
        (
            UnsetFlag("swap_space", as_refused="--swap-space 4"),
            "remove --swap-space 4",
            "swap-space=off",
        ),
        (
            SetEnvironment((("NCCL_DEBUG", "INFO"), ("NCCL_P2P_DISABLE", "1"))),
            "env: [{name: NCCL_DEBUG, value: INFO}, {name: NCCL_P2P_DISABLE, value: '1'}]",
            "",
        ),
        (
            SetEdgeLimit("edge.kvTokenBudget", 9216),
            "edge: {kvTokenBudget: 9216}",
            "edge-kv-budget=9216",
        ),
        (Scale(3), "replicas: 3", "replicas=3"),
        (Scale(3, "autoscaler"), "maxReplicas: 3", "replicas=3"),
        (
            Scale(None, target=CHAT),
            "kubectl scale deployment/chat -n prod --replicas=N (N: one more than now)",
            "replicas=+1",
        ),
        (
            Scale(None, engine="gpu-3:8000"),
            "one more engine like the one at gpu-3:8000",
            "replicas=+1",
        ),
        (
            Restart(ObjectReference("pod", "chat-0", "prod")),
            "kubectl delete pod chat-0 -n prod --grace-period=60",
            "",
        ),
        (
            RollBack(ObjectReference("deployment", "")),
            (
                "kubectl rollout undo deployment/<name> (under Helm or GitOps: revert the release or "
                "commit)"
            ),
            "",
        ),
        (
            EditPodSpec(SetMemory("12Gi")),
            "resources: {limits: {memory: 12Gi}, requests: {memory: 12Gi}}",
            "",
        ),
        (EditPodSpec(SetCpu(8)), 'resources: {limits: {cpu: "8"}, requests: {cpu: "8"}}', ""),
        (
            EditPodSpec(SetSharedMemory("8Gi")),
            (
                "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}] and volumeMounts: "
                "[{name: shm, mountPath: /dev/shm}] (outside Kubernetes: --shm-size=8g)"
            ),
            "",
        ),
        (
            EditPodSpec(SetServiceLinks(enabled=False)),
            "spec.template.spec.enableServiceLinks: false",
            "",
        ),
        (
            EditPodSpec(SetStartupProbe("/health", 8000, 10, 5, 60)),
            (
                "startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, "
                "timeoutSeconds: 5, failureThreshold: 60}"
            ),
            "",
        ),
        (Advise(Prose("find who has the card")), "find who has the card", ""),
    ],
)
def test_a_change_is_written_as_a_configuration_or_command_has_it(
    change: ProposedChange, written: str, option: str
) -> None:
    assert str(as_written(change)) == written
    assert str(as_set_option(change)) == option


def _expected(tokens_per_s: float, refused_ratio: float = 0.0) -> Expected:
    return Expected(tokens_per_s, 1.0, 2.0, 0.1, 0.2, 0.0, refused_ratio)


@pytest.mark.parametrize(
    ("step", "price"),
    [
        (
            NextStep(
                "max-num-active-seqs",
                SetFlag("max_num_active_seqs", 3),
                Prose(""),
                True,
                StepForecast(_expected(208.0), "trade-off"),
            ),
            "a restart (84 s), 37% of the tokens/s",
        ),
        (
            NextStep(
                "kv-budget",
                SetEdgeLimit("edge.kvTokenBudget", 4096),
                Prose(""),
                False,
                StepForecast(_expected(331.0, 0.02), "helps"),
            ),
            "2.0% of the requests rejected",
        ),
        (NextStep("none", Advise(Prose("wait")), Prose(""), False), "none"),
    ],
)
def test_the_price_names_restart_throughput_and_refusals(step: NextStep, price: str) -> None:
    assert str(price_of(step, Trials(_expected(330.0), start_s=84.0))) == price
