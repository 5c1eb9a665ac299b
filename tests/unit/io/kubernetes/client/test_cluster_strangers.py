"""What answers, or does not, is not the API server that was meant: it is named, with what to do,
and never taken for an empty cluster.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from tests.support.small_servers import Handler, always, answer, closed_port, serving, silence
from tests.unit.io.kubernetes.client.test_cluster import asked, failed, in_turn, ok, page, status
from tests.unit.io.kubernetes.client.test_kubeconfig import written

from barostat.io.engine_http.http import failure_of
from barostat.io.kubernetes.client.cluster import Cluster, Listed
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess, find_access
from barostat.io.kubernetes.client.resources import CONFIG_MAPS, PODS, SCALED_OBJECTS
from barostat.io.kubernetes.client.watching import watch
from barostat.io.kubernetes.recording.config_maps import from_config_maps

T = TypeVar("T")
pytestmark = pytest.mark.usefixtures("on_virtual_time")
HTML = "<html>nobody here</html>"


def html(code: int) -> Handler:
    return always(answer(HTML, f"{code} Some Words", kind="text/html"))


def through(access: ClusterAccess, what: Callable[[Cluster], Awaitable[T]]) -> T:
    async def run() -> T:
        cluster = Cluster(access)
        try:
            return await what(cluster)
        finally:
            await cluster.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("code", "kind"),
    [(400, "no-http"), (403, "no-http"), (404, "no-http"), (409, "no-http"), (502, "server")],
)
def test_a_refusal_without_a_status_is_not_the_api_servers(code: int, kind: str) -> None:
    found, _, _ = asked(
        html(code), lambda cluster: cluster.get(CONFIG_MAPS, "incident-x", "x", within_s=0.5)
    )
    assert failed(found).kind == kind
    assert re.search(
        rf"http://127.0.0.1:\d+ answers {code}, but not as a Kubernetes API server",
        failed(found).why,
    )
    assert not failed(found).right


def test_an_answer_that_broke_off_is_nobodys() -> None:
    cut = always(b"HTTP/1.1 404 Not Found\r\ncontent-length: 900\r\n\r\n{")
    found, requests, _ = asked(
        in_turn(cut, ok({"metadata": {}})), lambda cluster: cluster.get(CONFIG_MAPS, "c", "x")
    )
    assert found == {"metadata": {}}
    assert len(requests) == 2
    refused, requests, _ = asked(
        cut, lambda cluster: cluster.patch(CONFIG_MAPS, "c", {}, "x", how="merge")
    )
    assert (failed(refused).kind, failed(refused).uncertain, len(requests)) == (
        "not-found",
        False,
        1,
    )


def test_the_words_of_a_stranger_are_told() -> None:
    body = "Client sent an HTTP request to an HTTPS server."
    found, _, _ = asked(
        always(answer(body, "400 Bad Request", kind="text/plain")),
        lambda cluster: cluster.get(PODS, "p", "x"),
    )
    assert failed(found).why.endswith(f"answers 400, but not as a Kubernetes API server ({body})")


def test_an_api_that_a_cluster_does_not_have_is_not_there() -> None:
    """An API server answers so, in plain text, for groups that it does not know."""
    unknown = always(
        answer("404 page not found\n", "404 Not Found", kind="text/plain; charset=utf-8")
    )
    found, _, _ = asked(unknown, lambda cluster: cluster.list(SCALED_OBJECTS, "x"))
    assert failed(found).kind == "not-found"
    other, _, _ = asked(unknown, lambda cluster: cluster.get(CONFIG_MAPS, "c", "x"))
    assert failed(other).kind == "no-http"


@pytest.mark.parametrize("document", [{}, {"items": []}, {"kind": "ConfigMap", "metadata": {}}])
def test_what_is_no_list_is_none(document: Any) -> None:
    found, _, _ = asked(ok(document), lambda cluster: cluster.list(CONFIG_MAPS, "x"))
    assert failed(found).kind == "no-http"
    assert (
        "answers 200, but not as a Kubernetes API server (no list of configmaps)"
        in failed(found).why
    )


def test_a_list_without_items_is_one() -> None:
    documents: list[Any] = [
        {"kind": "PodList", "items": None, "metadata": {}},
        {"kind": "List", "items": []},
        {"kind": "ManyOfThemList", "items": []},  # a custom resource names its list
    ]
    for document in documents:
        found, _, _ = asked(ok(document), lambda cluster: cluster.list(PODS, "x"))
        assert found == Listed((), "")


def test_what_is_no_object_is_none() -> None:
    found, _, _ = asked(ok({}), lambda cluster: cluster.get(CONFIG_MAPS, "c", "x"))
    assert "not as a Kubernetes API server (no ConfigMap)" in failed(found).why


def test_a_stranger_at_a_watch_ends_it() -> None:
    async def collect(cluster: Cluster) -> list[Any]:
        return [found async for found in watch(cluster, PODS, "x", for_s=1.0)]

    found, _, _ = asked(in_turn(page("a"), html(404)), collect)
    assert isinstance(found[-1], RequestFailed)
    assert "answers 404, but not as a Kubernetes API server" in found[-1].why


def test_a_password_in_an_address_is_not_told() -> None:
    access = ClusterAccess(
        f"http://user:hunter2@127.0.0.1:{closed_port()}",
        proxy=f"http://me:hunter3@127.0.0.1:{closed_port()}",
        proxy_from="X",
    )
    found = failed(through(access, lambda cluster: cluster.get(PODS, "p", "x", within_s=0.3)))
    assert "hunter" not in found.why
    direct = ClusterAccess(access.server)
    found = failed(through(direct, lambda cluster: cluster.get(PODS, "p", "x", within_s=0.3)))
    assert "hunter" not in found.why


@pytest.mark.parametrize("server", ["http://k.example", "https://k.example:6443"])
def test_a_dead_proxy_is_named(server: str, tmp_path: Path) -> None:
    proxy = f"http://127.0.0.1:{closed_port()}"
    variable = "HTTP_PROXY" if server.startswith("http:") else "HTTPS_PROXY"
    file = written(tmp_path / "config", cluster={"server": server})
    found = failed(
        through(
            find_access(str(file), environment={variable: proxy}),
            lambda one: one.get(PODS, "p", "x", within_s=0.3),
        )
    )
    assert (
        f"{server} is asked through the proxy {proxy} ({variable}), which refuses the connection"
        in found.why
    )
    assert not found.uncertain
    file = written(tmp_path / "config", cluster={"server": server, "proxy-url": proxy})
    found = failed(
        through(find_access(str(file)), lambda one: one.get(PODS, "p", "x", within_s=0.3))
    )
    assert f"(proxy-url of cluster 'c' in {file}), which refuses the connection" in found.why


def test_a_proxy_that_refuses_is_named_and_not_asked_again() -> None:
    with serving(always(answer("who are you", "407 Proxy Authentication Required"))) as (
        port,
        requests,
    ):
        access = ClusterAccess(
            "https://k.example:6443", proxy=f"http://127.0.0.1:{port}", proxy_from="HTTPS_PROXY"
        )
        found = failed(
            through(access, lambda one: one.patch(PODS, "p", {}, "x", how="merge", within_s=3.0))
        )
    assert f"the proxy http://127.0.0.1:{port} (HTTPS_PROXY), which answers: 407" in found.why
    assert (len(requests), found.uncertain) == (1, False)
    with serving(html(403)) as (port, _):
        access = ClusterAccess(
            "http://k.example", proxy=f"http://127.0.0.1:{port}", proxy_from="HTTP_PROXY"
        )
        found = failed(through(access, lambda one: one.get(PODS, "p", "x", within_s=3.0)))
    assert (
        f"http://k.example, through the proxy http://127.0.0.1:{port} (HTTP_PROXY) answers "
        "403, but not as"
    ) in found.why


def test_the_proxy_of_the_environment_is_asked_for_only_where_the_access_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    found, _, _ = asked(ok({"metadata": {}}), lambda cluster: cluster.get(PODS, "p", "x"))
    assert found == {"metadata": {}}


@pytest.mark.parametrize(
    "error",
    [
        httpx.UnsupportedProtocol("no"),
        httpx.LocalProtocolError("Illegal header value b'Bearer hunter2'"),
    ],
)
def test_what_cannot_be_sent_is_not_sent_again(error: httpx.HTTPError) -> None:
    found = failure_of(error)
    assert (found.kind, found.unsent) == ("no-http", True)
    assert "hunter2" not in found.why


def test_a_server_that_stalls_is_told_with_all_that_was_waited() -> None:
    began = time.monotonic()
    found, requests, _ = asked(
        in_turn(status(500), silence), lambda cluster: cluster.get(PODS, "p", "x", within_s=2.0)
    )
    waited_s = float(failed(found).why.removesuffix(" s").rpartition(" ")[2])
    assert len(requests) == 2
    assert 1.9 <= waited_s <= time.monotonic() - began


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("127.0.0.1", "certificate-authority(-data)"),
        ("other.example", "server and tls-server-name"),
    ],
)
def test_a_certificate_that_is_not_trusted_is_told_with_the_field_to_mend(
    name: str, says: str, tmp_path: Path
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate with")
    made = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=k",
        "-keyout",
        "key",
        "-out",
        "crt",
    ]
    kind = "IP" if name[0].isdigit() else "DNS"
    subprocess.run(
        ["openssl", *made, "-addext", f"subjectAltName={kind}:{name}"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with serving(ok({"metadata": {}}), secure) as (port, _):
        trust = {"certificate-authority": "crt"} if kind == "DNS" else {}
        file = written(
            tmp_path / "config", cluster={"server": f"https://127.0.0.1:{port}", **trust}
        )
        found = failed(
            through(find_access(str(file)), lambda one: one.get(PODS, "p", "x", within_s=2.0))
        )
    assert f"check {says} of cluster 'c' in {file}" in found.why
    assert "SSL_CERT_FILE" not in found.why


def test_a_settings_file_with_a_value_that_is_none_is_told() -> None:
    container: dict[str, Any] = {
        "name": "vllm",
        "image": "vllm/vllm-openai",
        "args": ["--config", "/c/vllm.yaml"],
    }
    container["volumeMounts"] = [{"name": "v", "mountPath": "/c"}]
    pod = {
        "metadata": {"name": "p", "namespace": "x"},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "v", "configMap": {"name": "settings"}}],
        },
    }
    held = {
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"vllm.yaml": "a: 1\nb: 2020-13-45\n"},
    }
    found, _, _ = asked(
        ok(json.loads(json.dumps(held))), lambda cluster: from_config_maps(cluster, {"p": pod})
    )
    assert found.files == {}
    assert found.problems[0].startswith("vllm.yaml of ConfigMap settings in x is no YAML (line 2: ")
