"""The same kubeconfig gives the same access as kubectl's; a credential is renewed when it must be,
and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import base64
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.small_servers import answer, serving

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.client import login
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess, find_access
from barostat.io.kubernetes.client.resources import PODS


def written(
    path: Path,
    *,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    current: str = "one",
    **more: Any,
) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": "c", "cluster": {"server": "https://one:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "first"}},
            {"name": "two", "context": {"cluster": "c", "user": "u", "namespace": "second"}},
        ],
        **more,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def test_the_namespace_is_that_of_the_context_that_was_chosen(tmp_path: Path) -> None:
    file = str(written(tmp_path / "config"))
    assert (find_access(file).context, find_access(file).namespace) == ("one", "first")
    assert (find_access(file, "two").context, find_access(file, "two").namespace) == (
        "two",
        "second",
    )
    assert find_access(file).token == "t"


def test_files_are_merged_and_the_first_one_counts(tmp_path: Path) -> None:
    first = written(tmp_path / "a", current="")
    second = written(
        tmp_path / "b" / "config",
        user={"token": "other"},
        cluster={"server": "https://two"},
        users=[{"name": "v", "user": {"tokenFile": "token"}}],
        contexts=[{"name": "three", "context": {"cluster": "c", "user": "v"}}],
        current="three",
    )
    found = find_access(
        environment={"KUBECONFIG": f"{first}{os.pathsep}{tmp_path / 'nothing'}{os.pathsep}{second}"}
    )
    assert found.context == "three"
    assert found.server == "https://one:6443"
    assert found.namespace == "default"
    assert found.token_file == second.parent / "token"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no YAML"),
        ("[]", "no kubeconfig"),
        ("", "no context is chosen"),
        ("current-context: x", "no context 'x'"),
        ("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", "no server"),
        (
            (
                "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: "
                "u}}]\nclusters: [{name: c, cluster: {server: 'https://a'}}]"
            ),
            "'u'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(InputError, match=says):
        find_access(str(file))


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"auth-provider": {"name": "gcp"}}, "1.26"),
        (
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}},
            "v1alpha1",
        ),
        ({"client-certificate": "not-there.crt"}, "cannot be read"),
        ({"client-certificate-data": "$$$$"}, "base64"),
    ],
)
def test_a_user_that_cannot_be_used_is_told(
    user: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=says):
        find_access(str(written(tmp_path / "config", user=user)))


def test_there_is_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InputError, match="no cluster is known here"):
        find_access(environment={})
    with pytest.raises(InputError, match="no such file"):
        find_access(str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="a directory"):
        find_access(str(tmp_path))


def test_in_a_pod_the_service_account_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("barostat.io.kubernetes.client.kubeconfig.SERVICE_ACCOUNT", tmp_path)
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "namespace").write_text("inference")
    found = find_access(
        environment={"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    )
    assert (found.server, found.namespace) == ("https://[fd00::1]:443", "inference")
    assert asyncio.run(login.credential(found)).token == "first"
    (tmp_path / "token").write_text("second")
    assert asyncio.run(login.credential(found)).token == "second"


def test_impersonation_is_passed_on(tmp_path: Path) -> None:
    found = find_access(
        str(
            written(
                tmp_path / "config", user={"token": "t", "as": "observer", "as-groups": ["a", "b"]}
            )
        )
    )
    headers = login.headers(found, login.Credential("t"))
    assert ("Impersonate-User", "observer") in headers
    assert [value for name, value in headers if name == "Impersonate-Group"] == ["a", "b"]


PLUGIN = """#!/bin/sh
echo x >> {calls}
echo "{{\\"kind\\": \\"ExecCredential\\", \\"status\\": {{\\"token\\": \\"token-$(wc -l < {calls} | tr -d ' ')\\" {more}}}}}"
"""


def plugin(folder: Path, more: str = "", text: str = PLUGIN) -> Path:
    script = folder / "bin" / "plugin"
    script.parent.mkdir(parents=True)
    script.write_text(text.format(calls=folder / "calls", more=more))
    script.chmod(0o755)
    return written(
        folder / "config",
        user={
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "./bin/plugin",
                "interactiveMode": "Never",
            }
        },
    )


def asked_twice(access: ClusterAccess) -> tuple[list[str], Any]:
    seen: list[str] = []

    def handle(connection: Any, request: str) -> None:
        token = next(
            line.split()[-1]
            for line in request.splitlines()
            if line.lower().startswith("authorization")
        )
        seen.append(token)
        good = token == "token-2"
        connection.sendall(
            answer(
                '{"metadata": {}}',
                "200 OK" if good else "401 Unauthorized",
                kind="application/json",
            )
        )

    async def run(port: int) -> Any:
        from dataclasses import replace

        cluster = Cluster(replace(access, server=f"http://127.0.0.1:{port}"))
        try:
            await cluster.get(PODS, "p", "x")
            return await cluster.get(PODS, "p", "x")
        finally:
            await cluster.close()

    with serving(handle) as (port, _):
        found = asyncio.run(run(port))
    return seen, found


def test_a_refused_credential_is_renewed_once(tmp_path: Path) -> None:
    seen, found = asked_twice(find_access(str(plugin(tmp_path))))
    assert seen == ["token-1", "token-2", "token-2"]
    assert found == {"metadata": {}}


def test_a_credential_that_runs_out_is_renewed_before(tmp_path: Path) -> None:
    seen, _ = asked_twice(
        find_access(
            str(plugin(tmp_path, more=', \\"expirationTimestamp\\": \\"2001-01-01T00:00:00Z\\"'))
        )
    )
    assert seen[0] == "token-1"
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#!/bin/sh\necho no >&2; exit 3\n", "exit code 3: no"),
        ("#!/bin/sh\necho hello\n", "no credential"),
    ],
)
def test_a_plugin_that_fails_is_told(text: str, says: str, tmp_path: Path) -> None:
    access = find_access(str(plugin(tmp_path, text=text)))
    with pytest.raises(OutsideError, match=says):
        asyncio.run(login.credential(access))


def test_a_plugin_that_is_not_there_comes_with_its_hint(tmp_path: Path) -> None:
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "no-such-plugin",
            "installHint": "install it from here",
        }
    }
    with pytest.raises(InputError, match="install it from here"):
        asyncio.run(login.credential(find_access(str(written(tmp_path / "config", user=user)))))


def test_a_key_is_on_the_disk_for_its_owner_and_for_an_instant_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    class Context:
        verify_flags = 0

        def load_cert_chain(self, path: Path, password: Any) -> None:
            assert password() == ""
            seen.append(stat.S_IMODE(path.stat().st_mode))
            assert "KEY" in path.read_text()

    monkeypatch.setattr("ssl.create_default_context", lambda **_: Context())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pem = base64.b64encode(b"-----BEGIN KEY-----").decode()
    access = find_access(
        str(
            written(
                tmp_path / "config", user={"client-certificate-data": pem, "client-key-data": pem}
            )
        )
    )
    login.tls(access, asyncio.run(login.credential(access)))
    assert seen == [0o600]
    assert [path.name for path in tmp_path.iterdir()] == ["config"]
