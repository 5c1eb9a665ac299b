"""The starter of real engines: what it starts is stopped, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from dev.engine import ROOT, Engine
from dev.load import Background, Load

FLAGS = ("--max-model-len", "1024")


def _gone(pid: int, within_s: float = 20.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = (
            Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if Path(f"/proc/{pid}").exists()
            else "Z"
        )
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.usefixtures("no_engine")
def test_a_stopped_core_does_not_outlive_its_block() -> None:
    with Engine(*FLAGS) as engine:
        engine.wait_ready()
        pids = [process.pid for process in engine.processes()]
        assert {process.role for process in engine.processes()} == {"APIServer", "EngineCore"}
        with Background(
            engine.url, Load(clients=2, prompt_tokens=(10, 20), output_tokens=(5, 10), stream=True)
        ) as load:
            deadline = time.monotonic() + 30
            while load.counts.answered < 4 and time.monotonic() < deadline:
                time.sleep(0.1)
        assert load.counts.answered >= 4
        assert not load.counts.failed
        assert "vllm:generation_tokens_total" in httpx.get(engine.url + "/metrics").text
        os.kill(engine.pid_of("EngineCore"), signal.SIGSTOP)
    assert all(_gone(pid) for pid in pids)
    assert not engine.folder.exists()


@pytest.mark.usefixtures("no_engine")
def test_an_engine_dies_with_the_process_that_started_it() -> None:
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from dev.engine import Engine\n"
        "engine = Engine('--max-model-len', '1024').start()\n"
        "print(engine.pid, engine.folder, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(ROOT)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    said = parent.stdout.readline().split()
    pid, folder = int(said[0]), Path(said[1])
    time.sleep(3)
    parent.kill()
    parent.communicate()
    assert _gone(pid)
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not folder.exists()


def test_load_goes_to_this_machine_only() -> None:
    with pytest.raises(ValueError, match="only ever sent to this machine"):
        Background("http://192.0.2.1:8000", Load(clients=1))
