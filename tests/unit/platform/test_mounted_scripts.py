"""The script behind a container's command is read out of its ConfigMap; what is no script, or from
elsewhere, stays as it is.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.platform.mounted import Mounted, script_command, script_of

MAPS = {"scripts": {"data": {"start.sh": "exec vllm serve m\n"}}}


def pod(command: list[str], args: list[str] | None = None) -> Any:
    container = {
        "name": "vllm",
        "command": command,
        "args": args or [],
        "volumeMounts": [{"name": "v", "mountPath": "/scripts"}],
    }
    return {
        "spec": {
            "containers": [{"name": "other"}, container],
            "volumes": [{"name": "v", "configMap": {"name": "scripts"}}],
        }
    }


@pytest.mark.parametrize(
    "command",
    [
        ["/scripts/start.sh"],
        ["bash", "/scripts/start.sh"],
        ["/bin/sh", "-eu", "/scripts/start.sh"],
        ["bash", "-euxo", "pipefail", "/scripts/start.sh"],
        ["bash", "-oe", "pipefail", "/scripts/start.sh"],
        ["bash", "-eu", "-o", "pipefail", "/scripts/start.sh"],
        ["bash", "+o", "history", "--norc", "/scripts/start.sh"],
        ["tini", "--", "/scripts/start.sh"],
    ],
)
def test_the_file_that_is_run_is_found(command: list[str]) -> None:
    assert script_of(pod(command), "vllm") == Mounted("scripts", "start.sh")
    written = ["sh", "-c", "exec vllm serve m\n", "/scripts/start.sh", "--port", "1"]
    assert script_command(pod(command, ["--port", "1"]), "vllm", MAPS) == written


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["vllm", "serve", "m"],
        ["sh", "-c", "/scripts/start.sh"],
        ["bash", "-euxo", "pipefail", "-c", "/scripts/start.sh"],
        ["bash", "-euxc", "/scripts/start.sh"],
        ["/other/start.sh"],
        ["start.sh"],
        ["/scripts/gone.sh"],
    ],
)
def test_anything_else_is_no_script(command: list[str]) -> None:
    found = pod(command)
    assert script_command(found, "vllm", MAPS) is None
