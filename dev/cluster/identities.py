"""Who is who: a token and a kubeconfig for each daemon, and for the three people of the tests.

    admin       all rights
    observer    reads all that diagnose reads; every write is refused
    operator    what the remedy writes, besides

Observer and operator are the ServiceAccounts that we ship (deploy/rbac), with those rights and no
other: what the tests do with them, users can do too, on a cluster of kind or k3d as here.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import yaml
from dev.cluster.kubectl import Kubectl
from dev.cluster.layout import API_URL, NODE_NAME

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
NAMESPACE = "barostat"
PEOPLE = ("observer", "operator")

# kubeconfig -> user and groups, as kubeadm has them. The controllers act as one user: an account
# for each would cost them a second.
_USERS = {
    "admin": ("admin", "system:masters"),
    "kubelet": (f"system:node:{NODE_NAME}", "system:nodes"),
    "kube-controller-manager": ("system:kube-controller-manager", "system:masters"),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kube-proxy": ("system:kube-proxy", ""),
}


def write_tokens(etc: Path) -> None:
    """Under etc lie tokens.csv, which the API server reads, and a kubeconfig with its token for
    each daemon and the admin.
    """
    rows = []
    for number, (name, (user, groups)) in enumerate(_USERS.items()):
        token = secrets.token_hex(16)
        rows.append(f'{token},{user},{number},"{groups}"' if groups else f"{token},{user},{number}")
        authority = {"certificate-authority": str(etc / "api" / "apiserver.crt")}
        write_kubeconfig(etc / f"{name}.kubeconfig", {"server": API_URL, **authority}, name, token)
    private_text(etc / "tokens.csv", "\n".join(rows) + "\n")


def write_kubeconfig(path: Path, cluster: dict[str, Any], name: str, token: str) -> None:
    """A kubeconfig of one context lies at path, for its owner only."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "barostat", "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": "barostat", "user": name}}],
        "current-context": name,
    }
    private_text(path, yaml.safe_dump(content, sort_keys=False))


def admit_people(admin: Kubectl, folder: Path) -> None:
    """Observer and operator exist in the cluster that the admin's kubeconfig names, and folder has
    a kubeconfig for each (valid a day).
    """
    for person in PEOPLE:
        admin("apply", "-f", str(ROLES / f"{person}.yaml"))
    view = json.loads(admin("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    for person in PEOPLE:
        token = admin(
            "create", "token", f"barostat-{person}", "-n", NAMESPACE, "--duration=24h"
        ).strip()
        write_kubeconfig(folder / person, view["clusters"][0]["cluster"], person, token)


def private_text(path: Path, text: str) -> None:
    """The file has this text and only its owner may read it."""
    path.touch(mode=0o600)
    path.write_text(text)
