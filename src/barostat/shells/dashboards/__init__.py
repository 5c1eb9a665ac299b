"""Grafana's dashboards as files, and as the ConfigMap that Grafana's sidecar picks up. The files are
written by `make docs` from dev/dashboards.
"""

from __future__ import annotations

from importlib.resources import files

import yaml


def config_map(namespace: str | None = None) -> str:
    """Return a ConfigMap of all dashboards, labelled for the sidecar (`grafana_dashboard: "1"`)."""
    boards = sorted(
        (one for one in files(__name__).iterdir() if one.name.endswith(".json")),
        key=lambda one: one.name,
    )
    metadata = {
        "name": "barostat-dashboards",
        **({"namespace": namespace} if namespace else {}),
        "labels": {"grafana_dashboard": "1", "app.kubernetes.io/managed-by": "barostat"},
    }
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {f"barostat-{one.name}": one.read_text(encoding="utf-8") for one in boards},
        },
        sort_keys=False,
        allow_unicode=True,
        width=140,
    )
