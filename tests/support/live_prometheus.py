"""A real Prometheus, and an Alertmanager behind it where asked for, on this machine: started,
asked, and gone at the end.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import pytest
import yaml
from dev.free_port import free_port
from dev.setup_prometheus import ALERTMANAGER, PROGRAM, alertmanager_is_installed, is_installed


def needed() -> None:
    """Both are here, else the test is skipped (with CI=true: fails)."""
    if not (is_installed() and alertmanager_is_installed()):
        why = "Prometheus and Alertmanager are not here: run `make prometheus`"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)


class LivePrometheus:
    """Scrapes each second. `targets`: job -> (address, labels); `rules`: groups; `inhibit_rules`:
    with an Alertmanager that has them.
    """

    def __init__(
        self,
        folder: Path,
        targets: Sequence[tuple[str, str, Mapping[str, str]]],
        rules: Sequence[Mapping[str, Any]] = (),
        inhibit_rules: Sequence[Mapping[str, Any]] | None = None,
        scrape_s: float = 1.0,
    ) -> None:
        self.folder = folder
        self.port, self.alertmanager_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._inhibit = inhibit_rules
        self._processes: list[subprocess.Popen[bytes]] = []
        (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": list(rules)}, sort_keys=False))
        jobs: dict[str, list[dict[str, Any]]] = {}
        for job, address, labels in targets:
            jobs.setdefault(job, []).append({"targets": [address], "labels": dict(labels)})
        config: dict[str, Any] = {
            "global": {
                "scrape_interval": f"{scrape_s:g}s",
                "scrape_timeout": f"{min(scrape_s, 10):g}s",
            },
            "rule_files": [str(folder / "rules.yaml")],
            "scrape_configs": [
                {"job_name": job, "static_configs": found} for job, found in jobs.items()
            ],
        }
        if inhibit_rules is not None:
            manager = {"static_configs": [{"targets": [f"127.0.0.1:{self.alertmanager_port}"]}]}
            config["alerting"] = {"alertmanagers": [manager]}
            (folder / "alertmanager.yml").write_text(
                yaml.safe_dump(
                    {
                        "route": {"receiver": "nobody"},
                        "receivers": [{"name": "nobody"}],
                        "inhibit_rules": list(inhibit_rules),
                    }
                )
            )
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config, sort_keys=False))

    def __enter__(self) -> LivePrometheus:
        if self._inhibit is not None:
            self._start(
                ALERTMANAGER, f"--config.file={self.folder}/alertmanager.yml", f"--storage.path={self.folder}/alerts",
                f"--web.listen-address=127.0.0.1:{self.alertmanager_port}", "--cluster.listen-address=",
            )  # fmt: skip
        self._start(
            PROGRAM, f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
        )  # fmt: skip
        return self

    def _start(self, program: Path, *flags: str) -> None:
        with (self.folder / "log").open("a") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(program), *flags], stdout=log, stderr=log, cwd=program.parents[2]
                )
            )

    def asked(self, query: str, at: float | None = None) -> list[Any]:
        """What it answers, empty while it does not."""
        try:
            parameters = {"query": query} if at is None else {"query": query, "time": str(at)}
            found: list[Any] = httpx.get(
                f"{self.url}/api/v1/query", params=parameters, timeout=10
            ).json()["data"]["result"]
        except (httpx.HTTPError, ValueError, KeyError):
            return []
        return found

    def asked_over(self, query: str, since: float, until: float, step_s: float) -> list[Any]:
        """What it answers for a stretch of time. Errors: AssertionError where it refuses the
        query.
        """
        parameters = {"query": query, "start": str(since), "end": str(until), "step": str(step_s)}
        answer = httpx.get(f"{self.url}/api/v1/query_range", params=parameters, timeout=30).json()
        assert answer["status"] == "success", f"{query}: {answer.get('error')}"
        found: list[Any] = answer["data"]["result"]
        return found

    def firing(self) -> set[tuple[str, str]]:
        """What fires: alert and namespace."""
        return {
            (one["metric"]["alertname"], one["metric"].get("namespace", ""))
            for one in self.asked('ALERTS{alertstate="firing"}')
        }

    def paging(self) -> set[tuple[str, str]]:
        """What Alertmanager would send of the critical ones: alert and workload."""
        address = f"http://127.0.0.1:{self.alertmanager_port}/api/v2/alerts?inhibited=false&silenced=false&filter=severity%3Dcritical"
        return {
            (one["labels"]["alertname"], one["labels"].get("workload", ""))
            for one in httpx.get(address, timeout=10).json()
        }

    def until(self, holds: Callable[[], bool], within_s: float, what: str) -> float:
        """It came to that; after how many seconds."""
        began = time.monotonic()
        while not holds():
            took = time.monotonic() - began
            assert took < within_s, (
                f"{what} did not come in {took:.0f} s; firing: "
                f"{sorted(self.firing())}\n{self.log[-1500:]}"
            )
            time.sleep(0.5)
        return time.monotonic() - began

    @property
    def log(self) -> str:
        """What both have said."""
        return (self.folder / "log").read_text()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(20)
