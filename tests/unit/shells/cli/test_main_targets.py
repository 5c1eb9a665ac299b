"""Every verb that reads a workload understands each way to name one, as far as the API server's answer
that there is none.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from barostat.shells.cli.main import main

NAMESPACE, NAME = "inference", "chat"
WORDS = {
    "deploy": "Deployment",
    "ds": "DaemonSet",
    "daemonset": "DaemonSet",
    "sts": "StatefulSet",
    "pod": "Pod",
    "lws": "LeaderWorkerSet",
}
TARGET, OUT, LIMITS = "TARGET", "OUT", "LIMITS"
VERBS = {
    "diagnose": ("diagnose", TARGET),
    "collect": ("collect", TARGET, "--out", OUT),
    "survey": ("survey", TARGET),
    "top": ("top", TARGET, "--once"),
    "plan": ("plan", "--from", TARGET),
    "check": ("check", "--live", TARGET),
    "what-if": ("what-if", "--from", TARGET, "--set", "watermark=0.05"),
    "tune": ("tune", "--from", TARGET),
    "rules": ("rules", TARGET),
    "gateway": ("gateway", TARGET, "--limits", LIMITS),
    "mitigate": ("mitigate", TARGET, "--dry-run"),
}


class Empty(BaseHTTPRequestHandler):
    """A namespace without any object in it."""

    def do_GET(self) -> None:
        """The namespace is there; nothing else is."""
        there = self.path.partition("?")[0].endswith(f"/namespaces/{NAMESPACE}")
        lacking = {"apiVersion": "v1", "kind": "Status", "reason": "NotFound", "code": 404}
        found = {"metadata": {"name": NAMESPACE}} if there else {**lacking, "message": "not found"}
        body = json.dumps(found).encode()
        self.send_response(200 if there else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    path = tmp_path_factory.mktemp("kubeconfig") / "config"
    made = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": address}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    path.write_text(yaml.safe_dump(made))
    yield path
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_understands_the_name_of_a_workload(
    verb: str,
    word: str,
    kubeconfig: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    limits = tmp_path / "limits.yaml"
    limits.write_text("apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec: {}\n")
    given = {
        TARGET: f"{word}/{NAME}",
        OUT: str(tmp_path / "bundle.tar.gz"),
        LIMITS: str(limits),
    }
    words = [given.get(one, one) for one in VERBS[verb]]
    assert main([*words, "-n", NAMESPACE, "--kubeconfig", str(kubeconfig)]) == 2
    said = capsys.readouterr().err
    assert f"/{NAME}: there is no such {WORDS[word]} in namespace {NAMESPACE}" in said
