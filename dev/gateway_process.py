"""`barostat gateway` as a process on this machine, in front of whatever it is given.

with GatewayProcess(folder, "slo: {ttftP99Seconds: 4}", engine.url) as gateway:
    httpx.post(gateway.url + "/v1/completions", ...)
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import httpx
from dev.free_port import free_port
from dev.reaper import Reaper

BAROSTAT = Path(sys.executable).with_name("barostat")


class GatewayProcess:
    """Started, ready, and gone at the end; what it said is in `log`. `spec`: the limits, as
    YAML.
    """

    def __init__(
        self,
        folder: Path,
        spec: str,
        *upstreams: str,
        options: tuple[str, ...] = (),
        scheme: str = "http",
        under: tuple[str, ...] = (),
    ) -> None:
        """`under`: the command that starts it, as `prlimit` does."""
        self.limits = folder / "limits.yaml"
        self.write(spec)
        self.port, self.admin_port = free_port(), free_port()
        self.url, self.admin = (
            f"{scheme}://127.0.0.1:{self.port}",
            f"http://127.0.0.1:{self.admin_port}",
        )
        self._said = folder / "gateway.log"
        named = [word for url in upstreams for word in ("--upstream", url)]
        self.command = [
            *under, str(BAROSTAT), "gateway", "--limits", str(self.limits), *named, "--port", str(self.port),
            "--admin-port", str(self.admin_port), *options,
        ]  # fmt: skip

    def write(self, spec: str) -> None:
        """The limits file is this."""
        text = (
            "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec:\n  "
            + spec.replace("\n", "\n  ")
            + "\n"
        )
        self.limits.write_text(text)

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self._said.read_text()

    def __enter__(self) -> GatewayProcess:
        """It is ready for requests."""
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                self.command, stdout=said, stderr=said, start_new_session=True
            )
        self._reaper = Reaper(self.process.pid)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if httpx.get(self.admin + "/readyz", timeout=2).status_code == 200:
                    return self
            except httpx.HTTPError:
                assert self.process.poll() is None, self.log
            time.sleep(0.05)
        self._end()
        raise AssertionError(f"the gateway was not ready: {self.log}")

    def metric(self, sample: str) -> float:
        """The value of this sample (with its labels), 0 where there is none yet."""
        return self.metrics().get(sample, 0.0)

    def metrics(self) -> dict[str, float]:
        """Every sample of its page, by name with labels."""
        page = httpx.get(self.admin + "/metrics", timeout=5).text
        lines = (
            line.rpartition(" ") for line in page.splitlines() if line and not line.startswith("#")
        )
        return {sample: float(value) for sample, _, value in lines}

    def until(self, sample: str, value: float, within_s: float = 10) -> None:
        """The sample has this value."""
        deadline = time.monotonic() + within_s
        while (seen := self.metric(sample)) != value:
            assert time.monotonic() < deadline, f"{sample} is {seen}, not {value}"
            time.sleep(0.05)

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reaper.dismiss()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """It is gone. Errors: AssertionError where it wrote of a bug."""
        self._end()
        assert "this is a bug" not in self.log, self.log
