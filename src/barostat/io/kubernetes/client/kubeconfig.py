"""Which cluster, as whom: kubeconfig files merged as kubectl merges them, or the service account of
the pod that this runs in.

Source: Kubernetes 1.34, client-go tools/clientcmd (merge order, relative paths),
rest.InClusterConfig, client.authentication.k8s.io/v1.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barostat.core.errors import InputError
from barostat.io.input_files.small_file import read_small
from barostat.io.kubernetes.client.addresses import (
    checked,
    checked_proxy,
    environment_proxy,
    is_header,
)
from barostat.io.kubernetes.client.yaml_text import NoYaml, decoded

_KUBECONFIG_BYTES = 4 << 20
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints a credential (`aws eks get-token`, `gke-gcloud-auth-plugin`,
    `kubelogin`).
    """

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cluster: Mapping[str, Any] | None = None
    """Cluster information for the exec plugin, if it requests it."""
    install_hint: str = ""
    may_ask: bool = True


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Address of the API server, and credentials. Certificates are PEM; `token_file` is read again
    whenever it is needed.

    `server` holds no user; `proxy` may. `proxy_from`: what names the proxy. `file`, `cluster`:
    where server and authority are named.
    """

    server: str
    namespace: str = "default"
    context: str = ""
    ca: str | None = None
    insecure: bool = False
    tls_server_name: str | None = None
    proxy: str | None = None
    token: str | None = None
    token_file: Path | None = None
    certificate: str | None = None
    key: str | None = None
    basic: tuple[str, str] | None = None
    impersonate: Mapping[str, Any] = field(default_factory=dict)
    plugin: ExecPlugin | None = None
    proxy_from: str = ""
    file: str = ""
    cluster: str = ""


def find_access(
    kubeconfig: str | None = None,
    context: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> ClusterAccess:
    """Return the access that kubectl would use with the same options: --kubeconfig, else
    $KUBECONFIG, else ~/.kube/config, else the pod's service account.

    Errors: InputError if there is none, or if the file, the context, the cluster or the user is
    missing or unreadable.
    """
    env = os.environ if environment is None else environment
    if kubeconfig is not None:
        files = [Path(kubeconfig).expanduser()]
        if not files[0].is_file():
            what = (
                "this is a directory; give the file in it"
                if files[0].is_dir()
                else "there is no such file"
            )
            raise InputError(what, f"--kubeconfig {kubeconfig}")
    else:
        listed = [
            Path(name).expanduser() for name in env.get("KUBECONFIG", "").split(os.pathsep) if name
        ]
        files = [path for path in listed or [Path.home() / ".kube" / "config"] if path.is_file()]
        if not files:
            own = _in_cluster(env) if context is None else None
            if own is None:
                looked = (
                    "none of the files in $KUBECONFIG exists"
                    if listed
                    else "there is no ~/.kube/config and $KUBECONFIG is not set"
                )
                raise InputError(f"no cluster is known here: {looked}; give --kubeconfig FILE")
            return own
    return _access(_merged(files), context, env)


def _in_cluster(env: Mapping[str, str]) -> ClusterAccess | None:
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "443")
    token = SERVICE_ACCOUNT / "token"
    if not host or not token.is_file():
        return None
    namespace, authority = SERVICE_ACCOUNT / "namespace", SERVICE_ACCOUNT / "ca.crt"
    address = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    server, _ = checked(
        address, "the API server", "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"
    )
    proxy, proxy_from = environment_proxy(server, env)
    return ClusterAccess(
        server=server,
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        context="(the pod's service account)",
        ca=authority.read_text() if authority.is_file() else None,
        token_file=token,
        proxy=proxy or None,
        proxy_from=proxy_from,
        file=str(authority),
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """A named entry and its file, the base of its relative paths."""

    values: Mapping[str, Any]
    file: Path

    def text(self, key: str) -> str:
        """The value as text, empty if it is absent."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def path(self, key: str) -> Path | None:
        """Return the path under a key, relative to the kubeconfig's folder; None if it is not set."""
        return self.file.parent / Path(self.text(key)).expanduser() if self.text(key) else None

    def pem(self, key: str) -> str | None:
        """The certificate or key: from `<key>-data`, else from the file under `<key>`.

        Errors: InputError.
        """
        data = self.text(f"{key}-data")
        if data:
            with suppress(binascii.Error, ValueError):
                data = (
                    data
                    if "-----BEGIN" in data
                    else base64.b64decode(data).decode("ascii", "ignore")
                )
            if "-----BEGIN" not in data:
                raise InputError(f"{key}-data is not base64 of a PEM text", str(self.file))
            return data
        path = self.path(key)
        if path is None:
            return None
        try:
            text = read_small(path).decode("ascii", "ignore")
        except (OSError, ValueError) as error:
            raise InputError(
                f"{key} {path} cannot be read ({getattr(error, 'strerror', error)})", str(self.file)
            ) from None
        if "-----BEGIN" not in text:
            tool = "openssl pkey" if key == "client-key" else "openssl x509"
            raise InputError(
                f"{key} {path} is no PEM text; if it is DER: {tool} -inform DER -in FILE "
                "-out FILE.pem",
                str(self.file),
            )
        return text


@dataclass(slots=True)
class _Merged:
    """Several kubeconfig files as one: of two entries with one name the first counts."""

    files: list[Path]
    current: str = ""
    clusters: dict[str, _Entry] = field(default_factory=dict)
    users: dict[str, _Entry] = field(default_factory=dict)
    contexts: dict[str, _Entry] = field(default_factory=dict)


def _merged(files: list[Path]) -> _Merged:
    merged = _Merged(files)
    for file in files:
        try:
            document = decoded(read_small(file, _KUBECONFIG_BYTES).decode("utf-8"))
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", str(file)) from None
        except UnicodeDecodeError:
            raise InputError(
                "is no YAML (it is no text): this is no kubeconfig", str(file)
            ) from None
        except NoYaml as error:
            raise InputError(
                f"is no YAML ({error}); mend that line, or give another kubeconfig", str(file)
            ) from None
        if document is None:
            continue
        if not isinstance(document, dict):
            raise InputError(
                "is no kubeconfig: it should be a mapping with clusters, users and contexts",
                str(file),
            )
        current = document.get("current-context")
        merged.current = merged.current or (current if isinstance(current, str) else "")
        for into, key, inner in (
            (merged.clusters, "clusters", "cluster"),
            (merged.users, "users", "user"),
            (merged.contexts, "contexts", "context"),
        ):
            entries = document.get(key)
            for entry in entries if isinstance(entries, list) else []:
                if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                    values = entry.get(inner)
                    into.setdefault(
                        entry["name"], _Entry(values if isinstance(values, dict) else {}, file)
                    )
    return merged


def _access(merged: _Merged, context: str | None, env: Mapping[str, str]) -> ClusterAccess:
    where = os.pathsep.join(map(str, merged.files))
    name = context or merged.current
    if not name:
        names = (
            f"give --context, one of: {_names(merged.contexts)}"
            if merged.contexts
            else "it holds none"
        )
        raise InputError(f"no context is chosen; {names}", where)
    if name not in merged.contexts:
        raise InputError(f"there is no context {name!r}; known: {_names(merged.contexts)}", where)
    chosen = merged.contexts[name]
    cluster = merged.clusters.get(chosen.text("cluster"))
    if cluster is None or not cluster.text("server"):
        raise InputError(
            f"context {name!r} names the cluster {chosen.text('cluster')!r}, which is not "
            "there or has no server",
            where,
        )
    user = merged.users.get(chosen.text("user"))
    if user is None:
        if chosen.text("user"):
            raise InputError(
                f"context {name!r} names the user {chosen.text('user')!r}, which is not there",
                where,
            )
        user = _Entry({}, cluster.file)
    if "auth-provider" in user.values and "exec" not in user.values:
        raise InputError(
            f"user {chosen.text('user')!r} uses an auth-provider, which Kubernetes dropped "
            "in 1.26; renew the kubeconfig (exec)",
            where,
        )
    place = f"of cluster {chosen.text('cluster')!r}"
    server, within = checked(cluster.text("server").strip(), f"server {place}", str(cluster.file))
    proxy, proxy_from = cluster.text("proxy-url"), f"proxy-url {place} in {cluster.file}"
    if proxy:
        checked_proxy(proxy, f"proxy-url {place}", str(cluster.file))
    else:
        proxy, proxy_from = environment_proxy(server, env)
    basic = (user.text("username"), user.text("password")) if user.text("username") else None
    known = any(user.values.get(key) for key in ("token", "tokenFile", "exec"))
    return ClusterAccess(
        server=server,
        namespace=chosen.text("namespace") or "default",
        context=name,
        ca=cluster.pem("certificate-authority"),
        insecure=cluster.values.get("insecure-skip-tls-verify") is True,
        tls_server_name=cluster.text("tls-server-name") or None,
        proxy=proxy or None,
        token=_sendable(user, "token", chosen.text("user")) or None,
        token_file=user.path("tokenFile"),
        certificate=user.pem("client-certificate"),
        key=user.pem("client-key"),
        basic=basic or (None if known else within),
        impersonate=_impersonated(user, chosen.text("user")),
        plugin=_plugin(user, cluster) if isinstance(user.values.get("exec"), dict) else None,
        proxy_from=proxy_from,
        file=str(cluster.file),
        cluster=chosen.text("cluster"),
    )


def _impersonated(user: _Entry, name: str) -> dict[str, Any]:
    groups = user.values.get("as-groups")
    listed = [str(group) for group in groups] if isinstance(groups, list) else []
    for group in listed:
        if not is_header(group):
            raise InputError(
                f"as-groups of user {name!r} holds a name that no HTTP header can hold: {group!r}",
                str(user.file),
            )
    found = {
        "Impersonate-User": _sendable(user, "as", name),
        "Impersonate-Uid": _sendable(user, "as-uid", name),
    }
    return {key: value for key, value in found.items() if value} | (
        {"Impersonate-Group": listed} if listed else {}
    )


def _sendable(user: _Entry, key: str, name: str) -> str:
    """The value as text, which goes into an HTTP header.

    Errors: InputError.
    """
    value = user.text(key)
    if value and not is_header(value):
        raise InputError(
            f"{key} of user {name!r} has a line break, a blank at its end or a character "
            "beyond ASCII in it; write it anew, in one line",
            str(user.file),
        )
    return value


def _plugin(user: _Entry, cluster: _Entry) -> ExecPlugin:
    entry = _Entry(user.values["exec"], user.file)
    version, command = entry.text("apiVersion"), entry.text("command")
    if version not in EXEC_VERSIONS:
        raise InputError(
            f"the exec plugin {command!r} speaks {version or 'no version'}; "
            f"{' and '.join(EXEC_VERSIONS)} are spoken here",
            str(user.file),
        )
    if not command:
        raise InputError("the exec plugin has no command", str(user.file))
    if os.sep in command:
        command = str(entry.path("command"))
    args = entry.values.get("args")
    variables = entry.values.get("env")
    told = None
    if entry.values.get("provideClusterInfo") is True:
        keys = (
            "server",
            "tls-server-name",
            "insecure-skip-tls-verify",
            "certificate-authority-data",
            "proxy-url",
        )
        told = {key: cluster.values[key] for key in keys if key in cluster.values}
    return ExecPlugin(
        version,
        command,
        tuple(str(arg) for arg in args) if isinstance(args, list) else (),
        {
            str(one.get("name")): str(one.get("value", ""))
            for one in variables
            if isinstance(one, dict)
        }
        if isinstance(variables, list)
        else {},
        told,
        entry.text("installHint"),
        entry.text("interactiveMode") != "Never",
    )


def _names(entries: Mapping[str, _Entry]) -> str:
    return ", ".join(sorted(entries)[:10]) or "none"
