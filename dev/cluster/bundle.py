"""A bundle of a namespace, as a person with kubectl would gather it: objects, logs current and
previous, metrics of what listens.

Nothing is interpreted on the way: the files are what `kubectl get -o json` and `kubectl logs`
print, but for this machine's folders and ids, which `portable` replaces so that a recording may be
kept (tests/data/clusters).
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import yaml
from dev import engine
from dev.cluster.client import Workspace
from dev.cluster.kubectl import KubectlError
from dev.cluster.layout import ROOT

# File of the bundle -> what kubectl calls it. Nodes have no namespace; the others are the
# namespace's.
OBJECTS = {
    "pods": "pods",
    "events": "events",
    "nodes": "nodes",
    "replicasets": "replicasets",
    "deployments": "deployments",
    "hpas": "horizontalpodautoscalers",
}
_NODE_ID = re.compile(r'("(?:machineID|systemUUID|bootID)": ")([0-9a-f-]+)')


def write(space: Workspace, folder: Path) -> Path:
    """The folder is a bundle of the namespace, as an observer sees it."""
    observer = space.as_person("observer")
    for name in ("kubernetes", "logs", "metrics"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "bundle.yaml").write_text(
        yaml.safe_dump({"apiVersion": "barostat.dev/v1alpha1", "kind": "Bundle", "engine": "vllm"})
    )
    for file, resource in OBJECTS.items():
        (folder / "kubernetes" / f"{file}.json").write_text(
            portable(json.dumps(observer.json("get", resource), indent=1))
        )
    for pod in space.pods():
        for suffix, flags in ((".log", ()), (".previous.log", ("--previous",))):
            done = observer.run("logs", pod.name, *flags)
            if done.returncode == 0:
                (folder / "logs" / f"{pod.name}{suffix}").write_text(portable(done.stdout))
        if pod.is_ready:
            try:
                scrape = space.metrics(pod.name)
            except KubectlError:
                continue
            (folder / "metrics" / pod.name).mkdir(exist_ok=True)
            (folder / "metrics" / pod.name / f"{time.time():.0f}.prom").write_text(scrape)
    return folder


def portable(text: str) -> str:
    """The text as on a machine where vLLM lies under /usr/local, as it does in its image; the
    node's own ids are zeros.
    """
    environments = {
        engine.ENVIRONMENT.resolve(),
        *(Path(value).resolve() for value in (sys.base_prefix, ROOT / ".venv", ROOT)),
    }
    for folder in sorted(environments, key=lambda path: -len(str(path))):
        text = text.replace(str(folder), "/usr/local")
    return _NODE_ID.sub(lambda found: found[1] + re.sub("[0-9a-f]", "0", found[2]), text)
