"""Envoy as deploy/gateway/envoy/envoy.yaml has it, on ports of this machine: for tests and
benchmarks.
"""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from dev.setup_envoy import PROGRAM

ROOT = Path(__file__).resolve().parent.parent
BOOTSTRAP = ROOT / "deploy" / "gateway" / "envoy" / "envoy.yaml"


def bootstrap(port: int, processor_port: int, admin_port: int) -> dict[str, Any]:
    """The configuration that is shipped, with these ports of 127.0.0.1 in place of its own."""
    document: dict[str, Any] = yaml.safe_load(BOOTSTRAP.read_text())
    resources = document["static_resources"]
    resources["listeners"][0]["address"]["socket_address"] = {
        "address": "127.0.0.1",
        "port_value": port,
    }
    (processor,) = (cluster for cluster in resources["clusters"] if cluster["name"] == "barostat")
    (endpoints,) = processor["load_assignment"]["endpoints"]
    endpoints["lb_endpoints"][0]["endpoint"]["address"]["socket_address"]["port_value"] = (
        processor_port
    )
    document["admin"] = {
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": admin_port}}
    }
    return document


def processing_mode(document: dict[str, Any]) -> dict[str, str]:
    """The processing mode within such a document, to be changed in place."""
    manager = document["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0][
        "typed_config"
    ]
    found: dict[str, str] = manager["http_filters"][0]["typed_config"]["processing_mode"]
    return found


class Envoy:
    """One Envoy with one worker."""

    def __init__(
        self,
        folder: Path,
        port: int,
        processor_port: int,
        admin_port: int,
        change: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """`change`: alters the configuration before it is written."""
        self._admin = admin_port
        document = bootstrap(port, processor_port, self._admin)
        if change is not None:
            change(document)
        written = folder / "envoy.yaml"
        written.write_text(yaml.safe_dump(document))
        self.log = folder / "envoy.log"
        command = [
            str(PROGRAM),
            "-c",
            str(written),
            "--concurrency",
            "1",
            "--log-level",
            "warning",
            "--disable-hot-restart",
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def wait_ready(self) -> None:
        """It takes requests. Errors: AssertionError with its last words."""
        end = time.monotonic() + 20
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{self._admin}/ready", timeout=2
                ) as answer:
                    if answer.status == 200:
                        return
            except (OSError, urllib.error.URLError):
                time.sleep(0.05)
        raise AssertionError(f"Envoy is not ready: {self.log.read_text()[-800:]}")

    def close(self) -> None:
        """It has ended."""
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
