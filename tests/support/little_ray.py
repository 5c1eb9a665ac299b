"""The little Kubernetes with a RayService: KubeRay hands serveConfigV2 to Ray Serve, which replaces
replicas in the pods that are there.

Assumptions, of kuberay v1.6.0: the status is read from Ray Serve every few seconds, so that it is late
by that; the generation that it notes is written with it.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from tests.support.little_kubernetes import HOME, OLD, LittleKubernetes, Object, reference

CLUSTER = f"{HOME}-abcde"
POLL_S = 2.0
_TEXT = """\
applications:
- name: llms
  args:
    llm_configs:
    - deployment_config:
        num_replicas: {replicas}
      engine_kwargs:
        max_num_seqs: {value}
"""


class LittleRayService(LittleKubernetes):
    """`vllm` is a RayService, its replicas one to a worker."""

    kind, plural = "RayService", "rayservices"
    routed: ClassVar[dict[str, str]] = {"ray.io/cluster": CLUSTER, "ray.io/serve": "true"}

    def spec(self, replicas: int, container: Object) -> Object:
        """The engine is in the text; the workers start Ray."""
        worker = {**container, "args": ["ray start --block"]}
        self._worker, self._asked, self._runs = worker, replicas, ""
        group = {"replicas": replicas, "template": {"spec": {"containers": [worker]}}}
        text = _TEXT.format(replicas=replicas, value=OLD)
        return {"serveConfigV2": text, "rayClusterConfig": {"workerGroupSpecs": [group]}}

    def settle(self) -> None:
        """The controllers have seen everything."""
        home = self.objects.get((self.plural, HOME))
        if home is None:
            return
        home["metadata"].setdefault("generation", 1)
        if ("rayclusters", CLUSTER) not in self.objects:
            above = {"name": CLUSTER, "ownerReferences": [reference(self.kind, home)]}
            self.add("rayclusters", {"metadata": above, "spec": {}})
            self._served(home["spec"]["serveConfigV2"])
        made = self.objects["rayclusters", CLUSTER]
        for index in range(self._asked):
            if ("pods", f"{CLUSTER}-gpu-worker-{index}") not in self.objects:
                labels = {**self.routed, "ray.io/node-type": "worker"}
                metadata: Object = {
                    "name": f"{CLUSTER}-gpu-worker-{index}",
                    "labels": labels,
                    "ownerReferences": [reference("RayCluster", made)],
                }
                status: Object = {"phase": "Pending", "conditions": []}
                spec = {"containers": [dict(self._worker)]}
                self.add("pods", {"metadata": metadata, "spec": spec, "status": status})
        self._place()
        self._endpoints()

    def look_at(self, before: Object, after: Object) -> None:
        """A text that changed is Ray Serve's a moment later, and in the status after that."""
        super().look_at(before, after)
        if before["spec"] == after["spec"]:
            return
        after["metadata"]["generation"] = before["metadata"]["generation"] + 1
        loop, text = asyncio.get_running_loop(), after["spec"]["serveConfigV2"]
        loop.call_later(POLL_S, self._noted, "DEPLOYING")
        loop.call_later(POLL_S + 2 * self.start_s, self._served, text)

    def metrics(self, pod: Object) -> str:
        """As an engine with what Ray Serve runs."""
        engine = {"spec": {"containers": [{"args": self._runs.split()}]}}
        return super().metrics({**pod, "spec": {**pod["spec"], **engine["spec"]}})

    def _served(self, text: str) -> None:
        self._runs = text
        self._noted("RUNNING")

    def _noted(self, state: str) -> None:
        home = self.home
        deployments = {"m": {"status": "HEALTHY" if state == "RUNNING" else "UPDATING"}}
        llms = {"status": state, "serveDeploymentStatuses": deployments}
        home["status"] = {
            "observedGeneration": home["metadata"]["generation"],
            "activeServiceStatus": {"applicationStatuses": {"llms": llms}},
        }
        self.touch(home)
