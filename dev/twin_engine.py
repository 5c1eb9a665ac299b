"""`barostat twin` started as the real engine is (dev/engine.py): the same flags of vLLM, the same
ways to wait for it, look at it, stop it.

    with TwinEngine("--num-gpu-blocks-override", "64") as engine:
        engine.wait_ready()
        httpx.get(engine.url + "/metrics")

It sizes itself as the real engine on this machine does (vLLM's CPU backend: blocks of 128 tokens, 1
GiB), needs neither `make vllm` nor a GPU, and is up in a second. How long its steps take is a round
number per shape, not a measurement (PACES).

    python dev/twin_engine.py [--shape NAME] [vllm flags]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.engine import SHAPES, Engine, show_until_ended
from dev.tiny_model import CONFIG

BAROSTAT = Path(sys.executable).with_name("barostat")

# Seconds per step, prompt token and decoding request, by shape. Round numbers of the order of what
# the real CPU engine takes on two cores: no measurement that gave them is kept, and no test holds
# them to one. Beside "small" stand four recorded bundles of the real engine
# (healthy-busy, kv-admission-queueing, kv-preemption-thrash, slot-bound in tests/data/bundles),
# which `barostat what-if --from` calibrates to 5 to 18 ms, 0.31 to 0.48 ms and 0.10 to 0.36 ms;
# beside "feather" and "tiny" stands nothing.
PACES: Mapping[str, str] = {
    "feather": "base=0.002,prefill=0.000007,decode=0.00005",
    "tiny": "base=0.002,prefill=0.00006,decode=0.0002",
    "small": "base=0.005,prefill=0.00036,decode=0.0006",
}


class TwinEngine(Engine):
    """A running twin. `flags` are vLLM's; `options` are the twin's own (`--fault hang@20s`). The
    other arguments as the engine's.
    """

    def __init__(
        self,
        *flags: str,
        shape: str = "tiny",
        model: str | None = None,
        env: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
        latency: str | None = None,
    ) -> None:
        """Nothing is started yet. `latency`: what a step takes, where the shape's pace is not
        meant.
        """
        super().__init__(*flags, shape=shape, model=model or "unset", env=env)
        self.options = options
        self.latency = latency or PACES[shape]
        if model is None:
            folder = self.folder / shape
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps({**CONFIG, **SHAPES[shape]}))
            self.model = str(folder)

    @property
    def command(self) -> list[str]:
        """The command line."""
        own = [
            "--gpu",
            "cpu",
            "--cpu-kvcache-space-gib",
            "1",
            "--latency",
            self.latency,
            "--engine-version",
            "0.32.0",
        ]
        listen = [
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--served-model-name",
            "tiny",
            "--disable-uvicorn-access-log",
        ]
        return [
            str(BAROSTAT),
            "twin",
            *own,
            *listen,
            *self.options,
            "--",
            "vllm",
            "serve",
            self.model,
            "--enforce-eager",
            *self.flags,
        ]

    @property
    def arguments(self) -> list[str]:
        """What stands behind `vllm serve MODEL`."""
        return [
            "--served-model-name",
            "tiny",
            "--enforce-eager",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            *self.flags,
        ]

    def environment(self) -> dict[str, str]:
        """Where programs are, and nothing that would change what it does."""
        kept = {
            name: os.environ[name]
            for name in ("PATH", "LANG", "TMPDIR", "HOME")
            if name in os.environ
        }
        return {**kept, "PYTHONUNBUFFERED": "1", **self.env}


def main(arguments: list[str]) -> int:
    """Run one twin until it ends or a person presses Ctrl-C."""
    shape = "tiny"
    if arguments[:1] == ["--shape"]:
        shape, arguments = arguments[1], arguments[2:]
    with TwinEngine(*arguments, shape=shape) as engine:
        return show_until_ended(engine)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
