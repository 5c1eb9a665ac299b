"""The manifests of the tests with their parameters: objects as `kubectl apply` takes them.

    vllm(replicas=2, flags=["--max-num-seqs", "64"])      the real vLLM on CPU: 1 to 1.5 GiB and a core for each
    twin(replicas=50, serve=["--max-num-seqs", "64"])     its digital twin (`barostat twin`): cheap, for many

Both come with a Service of the same name. The image may be another (BAROSTAT_VLLM_IMAGE) where the
cluster is not ours.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from dev.cluster.images import RAY_IMAGE, TWIN_IMAGE, VLLM_IMAGE
from dev.engine import DTYPE_FLAGS

MANIFEST = Path(__file__).resolve().parent / "manifests" / "vllm.yaml"
PORT = 8000
# What the CPU wants whatever is tried: the tiny model has no weights, and compiling costs more than
# it gives.
MODEL_FLAGS = (
    "/models/tiny",
    "--served-model-name",
    "tiny",
    "--load-format",
    "dummy",
    "--enforce-eager",
    *DTYPE_FLAGS,
)
SIZE_FLAGS = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64")
TWIN_FLAGS = ("--kv-blocks", "512", "--step-time", "0.05")
TWIN_MODEL = ("Qwen/Qwen3-8B", "--served-model-name", "tiny", "--max-model-len", "4096")

Manifest = dict[str, Any]


def vllm(
    name: str = "vllm",
    *,
    replicas: int = 1,
    flags: Sequence[str] = SIZE_FLAGS,
    model: Sequence[str] = MODEL_FLAGS,
    memory: str = "4Gi",
    shm: str | None = "1Gi",
    env: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[Manifest]:
    """Deployment and Service of the real vLLM. `shm=None` leaves the pod the 64 MiB of /dev/shm
    that it has by itself.
    """
    deployment, service = _named(name, labels or {})
    deployment["spec"]["replicas"] = replicas
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    container["image"] = os.environ.get("BAROSTAT_VLLM_IMAGE", VLLM_IMAGE)
    container["args"] = [*model, *flags]
    container["resources"]["limits"]["memory"] = memory
    if _bytes(memory) < _bytes(container["resources"]["requests"]["memory"]):
        container["resources"]["requests"]["memory"] = memory
    if env:
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
    if shm is None:
        del pod["volumes"], container["volumeMounts"]
    else:
        pod["volumes"][0]["emptyDir"]["sizeLimit"] = shm
    return [deployment, service]


def twin(
    name: str = "twin",
    *,
    replicas: int = 1,
    flags: Sequence[str] = TWIN_FLAGS,
    serve: Sequence[str] | None = None,
    gpus: int = 0,
    memory: str = "512Mi",
    labels: Mapping[str, str] | None = None,
) -> list[Manifest]:
    """Deployment and Service of the digital twin. It takes no GPU unless told to, so that there may
    be many.

    `flags` are the twin's own: pool, latency, faults. `serve` are arguments of vLLM: with them the
    pod's arguments hold a whole `vllm serve` command line, as production's have; without them the
    pod is a vLLM by its metrics alone.
    """
    deployment, service = _named(name, labels or {})
    deployment["spec"]["replicas"] = replicas
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    command_line = [] if serve is None else ["--", "vllm", "serve", *TWIN_MODEL, *serve]
    container |= {"image": TWIN_IMAGE, "args": ["--host", "0.0.0.0", *flags, *command_line]}
    limits = {"memory": memory} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    container["resources"] = {"requests": {"cpu": "5m", "memory": "32Mi"}, "limits": limits}
    del pod["volumes"], container["volumeMounts"]
    return [deployment, service]


def stateful_set(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The same pods as a StatefulSet."""
    made = copy.deepcopy(only(manifests, "Deployment"))
    made["kind"] = "StatefulSet"
    for key in ("strategy", "progressDeadlineSeconds"):
        made["spec"].pop(key, None)
    made["spec"]["serviceName"] = made["metadata"]["name"]
    return [made, *(found for found in manifests if found["kind"] != "Deployment")]


def rollout(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The same pods as an Argo Rollout: one canary, then a pause that waits for a person."""
    made = copy.deepcopy(only(manifests, "Deployment"))
    made |= {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    for key in ("strategy", "progressDeadlineSeconds"):
        made["spec"].pop(key, None)
    steps = [{"setWeight": 20}, {"pause": {}}]
    made["spec"]["strategy"] = {"canary": {"maxSurge": 1, "maxUnavailable": 0, "steps": steps}}
    return [made, *(found for found in manifests if found["kind"] != "Deployment")]


def leader_worker_set(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The same pods as leaders of groups of two; a worker only waits. The Service sends requests to
    leaders.
    """
    deployment, service = _copies(manifests)
    leader = deployment["spec"]["template"]
    leader["metadata"]["labels"] = {"role": "leader"}
    container = copy.deepcopy(leader["spec"]["containers"][0])
    wait = {"name": "worker", "image": TWIN_IMAGE, "command": ["sleep", "infinity"]}
    worker = {"terminationGracePeriodSeconds": 1, "containers": [wait]}
    wait["resources"] = container["resources"]
    name = deployment["metadata"]["name"]
    spec = {
        "replicas": deployment["spec"]["replicas"],
        "leaderWorkerTemplate": {
            "size": 2,
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": leader,
            "workerTemplate": {"spec": worker},
        },
    }
    service["spec"]["selector"] = {"leaderworkerset.sigs.k8s.io/name": name, "role": "leader"}
    service["metadata"]["name"] = f"{name}-leaders"
    made = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    return [{**made, "metadata": deployment["metadata"], "spec": spec}, service]


def inference_service(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The same pods as the predictor of a KServe InferenceService in Standard mode, without an
    autoscaler.
    """
    deployment, service = _copies(manifests)
    pod = deployment["spec"]["template"]["spec"]
    pod["containers"][0]["name"] = "kserve-container"
    replicas = deployment["spec"]["replicas"]
    modes = {"deploymentMode": "Standard", "autoscalerClass": "none"}
    name = deployment["metadata"]["name"]
    annotations = {f"serving.kserve.io/{key}": mode for key, mode in modes.items()}
    made = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {**deployment["metadata"], "annotations": annotations},
        "spec": {"predictor": {"minReplicas": replicas, "maxReplicas": replicas, **pod}},
    }
    service["spec"]["selector"] = {"serving.kserve.io/inferenceservice": name}
    return [made, service]


def llm_inference_service(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The same pods as a KServe LLMInferenceService. Its preset asks for a user that is not root."""
    deployment, service = _copies(manifests)
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    container |= {"name": "main", "command": ["barostat", "twin"]}
    container["securityContext"] = {"runAsUser": 65534}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        found = container.setdefault(probe, {"httpGet": {"path": "/health", "port": PORT}})
        found["httpGet"]["scheme"] = "HTTP"
    container["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", "1"]}}}
    name = deployment["metadata"]["name"]
    spec = {
        "model": {"uri": f"hf://{TWIN_MODEL[0]}", "name": "tiny"},
        "storageInitializer": {"enabled": False},
        "replicas": deployment["spec"]["replicas"],
        "template": pod,
    }
    service["spec"]["selector"] = {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": "llminferenceservice",
    }
    made = {"apiVersion": "serving.kserve.io/v1alpha2", "kind": "LLMInferenceService"}
    return [{**made, "metadata": deployment["metadata"], "spec": spec}, service]


_SERVE_CONFIG = """\
# The chat application: two replicas, one GPU each.
applications:
- name: chat
  route_prefix: /
  import_path: dev.cluster.ray_llm:build_openai_app  # takes what ray.serve.llm takes
  args:
    llm_configs:
    - model_loading_config: {{model_id: tiny, model_source: {model}}}
      accelerator_type: H100
      deployment_config:
        num_replicas: {replicas}
      engine_kwargs:
        # The pool was measured with these.
{settings}
      experimental_configs: {{twin: "{own}"}}
"""
_HEAD_NAME = (
    "at=$(echo ${FQ_RAY_IP%%.*}_SERVICE_HOST | tr a-z- A-Z_); "
    'echo "${!at} $FQ_RAY_IP" >> /etc/hosts'
)
"""A worker of Ray finds its head by DNS, which this cluster lacks."""


def ray_service(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The same twins as replicas of Ray Serve: a head without replicas, and a worker with a GPU for
    each. KubeRay makes the Service.
    """
    deployment, _ = _copies(manifests)
    replicas = deployment["spec"]["replicas"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    at = container["args"].index("--")
    own, words = container["args"][2:at], container["args"][at + 1 :]
    model, flags = words[2], words[5:]
    settings = {
        flags[i].lstrip("-").replace("-", "_"): flags[i + 1] for i in range(0, len(flags), 2)
    }
    text = _SERVE_CONFIG.format(
        model=model,
        replicas=replicas,
        settings="\n".join(f"        {key}: {found}" for key, found in settings.items()),
        own=" ".join(own),
    )
    start = {"object-store-memory": "78643200"}
    resources = {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "4Gi"}}
    head = {"name": "ray-head", "image": RAY_IMAGE, "resources": resources}
    gpu = {**resources, "limits": {"memory": "4Gi", "nvidia.com/gpu": "1"}}
    worker = {**head, "name": "ray-worker", "args": [_HEAD_NAME], "resources": gpu}
    group = {"groupName": "gpu", "replicas": replicas, "minReplicas": replicas}
    group |= {"maxReplicas": replicas, "rayStartParams": start, "template": _one_of(worker)}
    cluster = {
        "rayVersion": RAY_IMAGE.rpartition(":")[2],
        "headGroupSpec": {"rayStartParams": {"num-cpus": "0", **start}, "template": _one_of(head)},
        "workerGroupSpecs": [group],
    }
    made = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": deployment["metadata"]}
    return [{**made, "spec": {"serveConfigV2": text, "rayClusterConfig": cluster}}]


def _one_of(container: Manifest) -> Manifest:
    return {"spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}


def _copies(manifests: Sequence[Manifest]) -> tuple[Manifest, Manifest]:
    """Deployment and Service, to be changed."""
    return copy.deepcopy(only(manifests, "Deployment")), copy.deepcopy(only(manifests, "Service"))


def as_list(manifests: Sequence[Manifest]) -> str:
    """The objects as one document for `kubectl apply -f -`."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})


def only(manifests: Sequence[Manifest], kind: str) -> Manifest:
    """The one manifest of that kind, to change it before it is applied. Errors: ValueError if there
    is not one.
    """
    (found,) = [manifest for manifest in manifests if manifest["kind"] == kind]
    return found


def _named(name: str, labels: Mapping[str, str]) -> list[Manifest]:
    manifests = [copy.deepcopy(manifest) for manifest in yaml.safe_load_all(MANIFEST.read_text())]
    for manifest in manifests:
        manifest["metadata"] |= {"name": name, "labels": {"app": name, **labels}}
    deployment, service = manifests
    deployment["spec"]["selector"]["matchLabels"] = {"app": name}
    deployment["spec"]["template"]["metadata"]["labels"] = {"app": name, **labels}
    deployment["spec"]["template"]["spec"]["containers"][0]["name"] = name
    service["spec"]["selector"] = {"app": name}
    return manifests


def _bytes(quantity: str) -> int:
    units = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    return int(quantity[:-2]) * units[quantity[-2:]] if quantity[-2:] in units else int(quantity)
