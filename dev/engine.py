"""The real vLLM (`make vllm`), started with given flags on a free loopback port and stopped for
sure.

    with Engine("--num-gpu-blocks-override", "64") as engine:
        engine.wait_ready()
        httpx.get(engine.url + "/metrics")

By hand: `python dev/engine.py [--shape NAME] [vllm flags]` runs one until Ctrl-C and prints its
address.

Who may end it: leaving the `with` block; and, should this process die first, its reaper
(dev/reaper.py), which takes its folder away, too. The engine and its core are one process group, so
none outlives the group's end, not even a stopped core.

Another vLLM than that of `make vllm` is a subclass with a `program`, a `version` and an environment
of its own (dev/gpu/card_engine.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.free_port import free_port
from dev.reaper import Reaper

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".vllm"
READY_WITHIN_S = 180.0
STOPPED_WITHIN_S = 15.0
_LONGEST_TEMPORARY = 64


def _fast_bfloat16() -> bool:
    """The processor has AVX-512. With AVX2 alone vLLM's bfloat16 takes several times as long as
    float32.
    """
    try:
        return " avx512f " in Path("/proc/cpuinfo").read_text()
    except OSError:
        return True


# What a processor without AVX-512 is asked for: arithmetic that it is quick at, and less of it.
FAST_BFLOAT16 = _fast_bfloat16()
DTYPE_FLAGS: tuple[str, ...] = () if FAST_BFLOAT16 else ("--dtype", "float32")

# The served model's shape: how much a step costs on this CPU decides which limit is met first.
SHAPES: Mapping[str, Mapping[str, int]] = {
    # 1 M parameters: a step costs about what the host side of it costs.
    "tiny": {},
    # Less than that: the host side is nearly all there is.
    "feather": {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": 32,
    },
    # About 25 M parameters (8 layers): a step costs several times what the host side of it costs,
    # as it does on a GPU with a real model.
    "small": {
        "hidden_size": 512,
        "intermediate_size": 1536,
        "num_hidden_layers": 8 if FAST_BFLOAT16 else 3,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 64,
    },
}


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """One process of the engine, by the role its title gives it: APIServer or EngineCore (Worker
    where the executor is `mp`).
    """

    role: str
    pid: int


def is_installed() -> bool:
    """True if `make vllm` has been run here."""
    return (ENVIRONMENT / "bin" / "vllm").exists()


class Engine:
    """A running `vllm serve`, or one that ended by itself: then `exit_code` is set and `log_text()`
    says why.

    `flags` come after `vllm serve MODEL --served-model-name tiny --load-format dummy
    --enforce-eager [--dtype float32]` and may repeat any. `base_flags` are those before them,
    `base_env` what a recording tells of its environment beside `env`.
    """

    version = "0.32.0"
    base_flags: tuple[str, ...] = ("--enforce-eager", *DTYPE_FLAGS)
    base_env: Mapping[str, str] = MappingProxyType({"VLLM_CPU_KVCACHE_SPACE": "1"})

    def __init__(
        self,
        *flags: str,
        shape: str = "tiny",
        model: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is started yet."""
        self.flags = flags
        self.shape = shape
        self.model = model or str(model_folder(shape))
        self.env = dict(env or {})
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="barostat-engine-"))
        self.log = self.folder / "engine.log"
        self.started_after_s: float | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reaper: Reaper | None = None

    @property
    def url(self) -> str:
        """Base address of the HTTP server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def program(self) -> Path:
        """The `vllm` that is started."""
        return ENVIRONMENT / "bin" / "vllm"

    @property
    def command(self) -> list[str]:
        """The command line, as a pod would have it."""
        return [str(self.program), "serve", self.model, *self.arguments]

    @property
    def arguments(self) -> list[str]:
        """What stands behind `vllm serve MODEL`."""
        base = ["--served-model-name", "tiny", "--load-format", "dummy", *self.base_flags]
        listen = ["--host", "127.0.0.1", "--port", str(self.port), "--disable-uvicorn-access-log"]
        return [*base, *listen, *self.flags]

    @property
    def places(self) -> dict[str, str]:
        """Folders of this machine that its log may name, and what they are called in a recording;
        the first that matches counts.
        """
        return {
            self.model: "/models/tiny",
            str(ENVIRONMENT.resolve()): "/opt/vllm",
            str(ENVIRONMENT): "/opt/vllm",
            str(ROOT): "/opt/barostat",
            str(self.folder): "/tmp/engine",
        }

    @property
    def pid(self) -> int:
        """Process id of the API server, which leads the group."""
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit status (negative: the signal), or None while it runs."""
        return self._process.poll() if self._process else None

    def start(self) -> Self:
        """The process runs; it does not listen yet."""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment(),
                cwd=self.folder,
                start_new_session=True,
            )
        self._reaper = Reaper(self._process.pid, self.folder)
        return self

    def environment(self) -> dict[str, str]:
        """What the process finds in its environment."""
        return environment_with({**self.own_temporary(), **self.env})

    def own_temporary(self) -> dict[str, str]:
        """Where it is to put its sockets and temporary files: what it leaves of them goes with its
        folder.

        A folder whose name is too long for a socket in it is not used: the kernel takes 107 bytes,
        and vLLM names sockets by 36 letters.
        """
        return {"TMPDIR": str(self.folder)} if len(str(self.folder)) <= _LONGEST_TEMPORARY else {}

    def wait_ready(self, within_s: float = READY_WITHIN_S) -> Self:
        """/health answers 200.

        Errors: RuntimeError with the end of the log if the process ended, or was not up in time.
        """
        began = time.monotonic()
        while time.monotonic() - began < within_s:
            if self.exit_code is not None:
                raise RuntimeError(
                    f"vLLM ended with {self.exit_code} before it "
                    f"listened:\n{self.log_text()[-3000:]}"
                )
            if self.health() == 200:
                self.started_after_s = time.monotonic() - began
                return self
            time.sleep(0.25)
        raise RuntimeError(f"vLLM was not up after {within_s:.0f} s:\n{self.log_text()[-3000:]}")

    def wait_exit(self, within_s: float = READY_WITHIN_S) -> int:
        """The process has ended by itself; its exit status. Errors: subprocess.TimeoutExpired."""
        assert self._process is not None, "not started"
        return self._process.wait(within_s)

    def health(self) -> int | None:
        """Status of /health, or None if nobody answers."""
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=2) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def log_text(self) -> str:
        """The log so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def processes(self) -> list[EngineProcess]:
        """The processes of the group that have a role, from /proc."""
        assert self._process is not None, "not started"
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError):
                if os.getpgid(int(folder.name)) == self._process.pid:
                    title = (
                        (folder / "cmdline")
                        .read_bytes()
                        .replace(b"\0", b" ")
                        .decode(errors="replace")
                        .strip()
                    )
                    role = (
                        title.removeprefix("VLLM::").split("_")[0].split()[0]
                        if title.startswith("VLLM::")
                        else ""
                    )
                    role = "APIServer" if int(folder.name) == self._process.pid else role
                    if role:
                        found.append(EngineProcess(role, int(folder.name)))
        return sorted(found, key=lambda process: process.pid)

    def pid_of(self, role: str) -> int:
        """Process id of the one process with that role. Errors: LookupError."""
        pids = [process.pid for process in self.processes() if process.role == role]
        if len(pids) != 1:
            raise LookupError(f"{len(pids)} processes are {role}: {self.processes()}")
        return pids[0]

    def stop(self) -> None:
        """No process of the group is left. May be called twice."""
        if self._process is None:
            return
        group = self._process.pid
        _signal_group(group, signal.SIGCONT)
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        deadline = time.monotonic() + STOPPED_WITHIN_S
        while time.monotonic() < deadline:
            # poll() reaps the leader: a zombie would count as a member of the group for ever.
            if self._process.poll() is not None and not _group_exists(group):
                break
            time.sleep(0.05)
        else:
            _signal_group(group, signal.SIGKILL)
            self._process.wait(10)
        if self._reaper is not None:
            self._reaper.dismiss()
            self._reaper = None
        self._process = None

    def close(self) -> None:
        """No process of it is left, and no file."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        """The process runs."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing of it is left."""
        self.close()


def model_folder(shape: str) -> Path:
    """Folder with a model of that shape: the tiny model's tokenizer and a configuration with the
    shape's numbers.
    """
    base = ENVIRONMENT / "model"
    if not SHAPES[shape]:
        return base
    config: dict[str, Any] = json.loads((base / "config.json").read_text()) | dict(SHAPES[shape])
    folder = ENVIRONMENT / f"model-{shape}"
    wanted = json.dumps(config, indent=1)
    if not (folder / "config.json").exists() or (folder / "config.json").read_text() != wanted:
        folder.mkdir(exist_ok=True)
        for file in base.iterdir():
            shutil.copy(file, folder / file.name)
        (folder / "config.json").write_text(wanted)
    return folder


def environment_with(extra: Mapping[str, str]) -> dict[str, str]:
    """Environment of the engine: of ours only what says where things are, so that every start is
    the same on every machine.
    """
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    caches = ENVIRONMENT.resolve() / "cache"
    return {
        **kept,
        "HOME": str(caches),
        "VLLM_CACHE_ROOT": str(caches / "vllm"),
        "VLLM_CONFIG_ROOT": str(caches / "config"),
        "HF_HOME": str(caches / "huggingface"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "torchinductor"),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        # The worker lives in the core's process, as it does by default on one GPU. On a CPU vLLM
        # gives it a process of its own where this is "1"; core and worker then wait for each other
        # by spinning: on two cores that starves the API server, the load and whoever looks on for
        # seconds on end. "01" is as true, and not "1".
        "VLLM_ENABLE_V1_MULTIPROCESSING": "01",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        **extra,
    }


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def main(arguments: list[str]) -> int:
    """Run one engine until it ends or a person presses Ctrl-C."""
    shape = "tiny"
    if arguments[:1] == ["--shape"]:
        shape, arguments = arguments[1], arguments[2:]
    if not is_installed():
        print("engine: vLLM is not installed here; run `make vllm`", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Engine(*arguments, shape=shape) as engine:
        print(f"engine: pid {engine.pid}, log {engine.log}", file=sys.stderr, flush=True)
        return show_until_ended(engine)


def show_until_ended(engine: Engine) -> int:
    """The address has been printed once it listened, and the engine has ended or a person pressed
    Ctrl-C; the exit status.
    """
    try:
        engine.wait_ready()
        print(f"engine: up after {engine.started_after_s:.0f} s at", file=sys.stderr, flush=True)
        print(engine.url, flush=True)
        return engine.wait_exit(within_s=86_400)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return engine.exit_code or 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
