"""Run helm and kustomize: with a time limit, without a cluster, in the folder's own place."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from barostat.core.extras import how_to_install
from barostat.io.manifests import helm_library

TIME_LIMIT_S = 60.0
INSTALL_HELM = f"helm is not installed: put it on the PATH, or {how_to_install('helm')}"
INSTALL_KUSTOMIZE = "kustomize is not installed: put kustomize or kubectl on the PATH"


@dataclass(frozen=True, slots=True)
class Output:
    """Output of a tool. `failure`: why there is none."""

    text: str = ""
    failure: str = ""


def helm_template(folder: Path) -> Output:
    """Render the chart with the helm on the PATH, else with the Helm library where it is there."""
    if shutil.which("helm"):
        return _run(["helm", "template", "check", "."], folder, "helm")
    if helm_library.is_installed():
        return _run([sys.executable, "-m", helm_library.__name__, "."], folder, "helm")
    return Output(failure=INSTALL_HELM)


def kustomize_build(folder: Path) -> Output:
    """Render the overlay with kustomize, else with kubectl."""
    if shutil.which("kustomize"):
        return _run(["kustomize", "build", "."], folder, "kustomize")
    if shutil.which("kubectl"):
        return _run(["kubectl", "kustomize", "."], folder, "kubectl")
    return Output(failure=INSTALL_KUSTOMIZE)


def _run(command: list[str], folder: Path, tool: str) -> Output:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Output(failure=f"{tool} took longer than {TIME_LIMIT_S:.0f} s")
    except OSError as error:
        return Output(failure=f"{tool} could not be run: {error.strerror}")
    if done.returncode:
        return Output(failure=f"{tool}: {_cause(done.stderr)}")
    return Output(done.stdout)


def _cause(stderr: str) -> str:
    """Return the cause: helm's `Error:` and the lines below it, else the last line. kubectl writes
    its own between `err=<` and `>`.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip(" \t>")]
    lines = [line for line in lines if not line.startswith("Use --debug")]
    starts = [number for number, line in enumerate(lines) if line.startswith("Error:")]
    shown = lines[starts[-1] :] if starts else lines[-1:] or ["no reason given"]
    return " ".join(shown).removeprefix("`: ")[:300]
