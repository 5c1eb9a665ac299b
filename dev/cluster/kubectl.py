"""kubectl of our build (else the one on the path), with one kubeconfig."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev.cluster import binaries
from dev.cluster.layout import RUN


class KubectlError(RuntimeError):
    """kubectl ended with a status other than 0; the message is what it printed on stderr."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Runs kubectl as the person whose kubeconfig this is, in `namespace` if that is given."""

    kubeconfig: Path
    namespace: str | None = None

    def run(
        self, *arguments: str, stdin: str | None = None, timeout_s: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """The ended process, whatever its status. Errors: subprocess.TimeoutExpired."""
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=self.environment(),
        )

    def __call__(self, *arguments: str, stdin: str | None = None, timeout_s: float = 60.0) -> str:
        """What it printed on stdout. Errors: KubectlError."""
        done = self.run(*arguments, stdin=stdin, timeout_s=timeout_s)
        if done.returncode:
            raise KubectlError(
                f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.returncode}"
            )
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """What it printed, read as JSON (`-o json` is added)."""
        return json.loads(self(*arguments, "-o", "json"))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The started process, for what goes on (port-forward, logs -f); the caller ends it."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment(),
        )

    def command(self, *arguments: str) -> list[str]:
        """The command line."""
        place = ["-n", self.namespace] if self.namespace else []
        return [program(), "--kubeconfig", str(self.kubeconfig), *place, *arguments]

    def environment(self) -> dict[str, str]:
        """Environment of the process: what kubectl caches stays in the cluster's folder."""
        kept = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        return {**kept, "KUBECACHEDIR": str(RUN / "kubectl-cache")} if RUN.exists() else kept


def program() -> str:
    """Path of kubectl. Errors: KubectlError."""
    ours = binaries.folder() / "bin" / "kubectl"
    found = str(ours) if ours.exists() else shutil.which("kubectl")
    if not found:
        raise KubectlError("there is no kubectl: run `make cluster`, or install one")
    return found
