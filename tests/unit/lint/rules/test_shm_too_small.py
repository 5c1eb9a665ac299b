"""How many workers share one pod's /dev/shm, where an engine has several pods."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

GROUP = """
kind: LeaderWorkerSet
apiVersion: leaderworkerset.x-k8s.io/v1
metadata: {name: a}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
        - name: a
          image: vllm/vllm-openai:v0.30.0
          args: [--model, deepseek-ai/DeepSeek-R1, --tensor-parallel-size, "TP", --pipeline-parallel-size, "2"]
          resources: {limits: {nvidia.com/gpu: CARDS}}
"""


@pytest.mark.parametrize(("tp", "cards", "workers"), [("8", "8", ["8 workers"]), ("1", "1", [])])
def test_the_workers_of_other_pods_have_a_shm_of_their_own(
    tp: str, cards: str, workers: list[str]
) -> None:
    found = check([document_of(GROUP.replace("TP", tp).replace("CARDS", cards), "a.yaml")]).findings
    assert [
        one.message.rpartition("for ")[2] for one in found if one.rule == "shm-too-small"
    ] == workers
