"""Workloads as the cluster has them, as documents that the rules of `check` judge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from barostat.core.object_reference import ObjectReference
from barostat.io.manifests.yaml_tree import read_yaml
from barostat.lint.document import Document
from barostat.platform.objects import items, name_of, text
from barostat.platform.workloads import kinds

_NO_WORKLOADS = ("Pod", "ReplicaSet")


class _Quoting(yaml.SafeDumper):
    """Writes text that begins as a number does in quotes: `1e3` is text here, and would be read as
    a number again.
    """

    def represent_text(self, text: str) -> yaml.Node:
        return self.represent_scalar(
            "tag:yaml.org,2002:str", text, style="'" if re.match(r"[-+.]?\d", text) else None
        )


_Quoting.add_representer(str, _Quoting.represent_text)


def workload_documents(kubernetes: Mapping[str, Any]) -> dict[ObjectReference, Document]:
    """Every workload of a recording as a document, without its status. Its file is
    `deployment/vllm (live)`; with the namespace in front where there are several.
    """
    found = [
        (ObjectReference(kind.api.kind.lower(), name_of(item), _namespace(item)), kind.api, item)
        for kind in kinds()
        if kind.api.kind not in _NO_WORKLOADS
        for item in items(kubernetes.get(kind.api.plural))
    ]
    several = len({reference.namespace for reference, _, _ in found}) > 1
    documents = {}
    for reference, api, item in found:
        spec = {key: value for key, value in item.items() if key != "status"}
        whole = {"apiVersion": api.api_version, "kind": api.kind, **spec}
        before = f"{reference.namespace}/" if several else ""
        file = f"{before}{reference.kind}/{reference.name} (live)"
        documents[reference] = read_yaml(yaml.dump(whole, Dumper=_Quoting), file)
    return documents


def _namespace(item: Mapping[str, Any]) -> str:
    return text(item, "metadata", "namespace")
