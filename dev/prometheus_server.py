"""A real Prometheus that scrapes engines on this machine: started, asked whether it has come so
far, ended without a trace.

with PrometheusServer(scrape("engines", "127.0.0.1:8000", pod="vllm-0")) as server:
    server.wait_for("up", at_least=1)
    ... server.url
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from dev.free_port import free_port
from dev.setup_prometheus import PROGRAM


def scrape(job: str, *targets: str, **labels: str) -> dict[str, Any]:
    """One entry of scrape_configs."""
    return {"job_name": job, "static_configs": [{"targets": list(targets), "labels": labels}]}


class PrometheusServer:
    """A running server. `jobs`: entries of scrape_configs; `flags`: more of its own."""

    def __init__(
        self,
        *jobs: dict[str, Any],
        interval: str = "1s",
        flags: tuple[str, ...] = (),
        data: Path | None = None,
    ) -> None:
        """Nothing is started yet. `data`: a store that is there already."""
        self.folder = Path(tempfile.mkdtemp(prefix="barostat-prometheus-"))
        (self.folder / "prometheus.yml").write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": interval, "scrape_timeout": interval},
                    "scrape_configs": jobs,
                }
            )
        )
        self.port = free_port()
        self._flags = (*flags, f"--storage.tsdb.path={data or self.folder / 'data'}")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> PrometheusServer:
        """It runs, and answers."""
        command = [
            str(PROGRAM),
            f"--config.file={self.folder}/prometheus.yml",
            f"--web.listen-address=127.0.0.1:{self.port}",
            *self._flags,
        ]
        with (self.folder / "log").open("w") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self.wait_for("vector(1)", at_least=1)
        return self

    def __exit__(self, *_: object) -> None:
        """It has ended, and what it wrote is gone."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def asked(self, query: str) -> list[Any]:
        """What it answers to the query now; nothing where it does not answer."""
        try:
            with urlopen(
                f"{self.url}/api/v1/query?{urlencode({'query': query})}", timeout=10
            ) as answer:
                found: list[Any] = json.load(answer)["data"]["result"]
                return found
        except (OSError, ValueError, KeyError):
            return []

    def wait_for(self, query: str, at_least: int, within_s: float = 40.0) -> list[Any]:
        """What it answers once so many series are there."""
        deadline = time.monotonic() + within_s
        while len(found := self.asked(query)) < at_least:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{query}: {found}\n{(self.folder / 'log').read_text()[-1500:]}")
            time.sleep(0.2)
        return found
