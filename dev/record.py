"""A recorded bundle of a running engine: its scrapes, its log, and the CPU time of its processes.

    python dev/record.py FOLDER [SCENARIO...]        records scenarios of dev/scenarios.py, each into a folder of its name

Kept small: families that nobody judges by (`python_*`, `http_request_size_*`, ...) are left out,
and so are `_created` series.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.engine import Engine
from dev.scenarios import SCENARIOS, brought_about, scenario

from barostat.io.redaction.text import log_lines

_LEFT_OUT = re.compile(
    r"^(# (HELP|TYPE) )?(python_|http_(request_size|response_size|request_duration_highr)|[a-z_:]+_created[ {])"
)
RECORDED_S = 20.0
STILL_S = 15.0
"""Long enough where nothing changes."""
INTERVAL_S = 5.0
SLOW_START_S = 600.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the engine.

    `cpu_s`: CPU seconds used so far, by role; `states`: R, S or T (stopped), by role; `scrape_s`:
    how long the answer took.
    """

    at: float
    text: str
    cpu_s: Mapping[str, float]
    states: Mapping[str, str]
    scrape_s: float


def look(engine: Engine) -> Reading:
    """One scrape and the CPU clocks beside it."""
    began = time.monotonic()
    with urllib.request.urlopen(engine.url + "/metrics", timeout=30) as answer:
        text = answer.read().decode()
    scrape_s = time.monotonic() - began
    processes = engine.processes()
    used = {process.role: cpu_s(process.pid) for process in processes}
    states = {process.role: _stat(process.pid)[0] for process in processes}
    return Reading(time.time(), text, used, states, scrape_s)


def cpu_s(pid: int) -> float:
    """CPU seconds that the process has used. Errors: OSError if it is gone."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def record(
    engine: Engine,
    folder: Path,
    for_s: float,
    interval_s: float,
    seen: Callable[[Reading], None] = lambda _: None,
    gpu: Callable[[], tuple[str, str] | None] | None = None,
) -> None:
    """A bundle of that many seconds is in `folder`; `seen` was shown each reading. `gpu`: (kind,
    text) of the cards' tool, beside each.

    Errors: RuntimeError if the engine does not listen; for one that never did, see
    `record_failed_start`.
    """
    _clear(folder)
    name = "replica-0"
    for kind in ("metrics", "host"):
        (folder / kind / name).mkdir(parents=True)
    before: Reading | None = None
    began = time.monotonic()
    count = int(for_s / interval_s) + 1
    for index in range(count):
        time.sleep(max(0.0, began + index * interval_s - time.monotonic()))
        reading = look(engine)
        seen(reading)
        kept = (
            "\n".join(line for line in reading.text.splitlines() if not _LEFT_OUT.match(line))
            + "\n"
        )
        (folder / "metrics" / name / f"{int(reading.at)}.prom").write_text(kept)
        if before is not None:
            (folder / "host" / name / f"{int(reading.at)}.json").write_text(
                json.dumps(_host(before, reading)) + "\n"
            )
        if gpu is not None and (shown := gpu()) is not None:
            add_gpu(folder, shown, reading.at)
        before = reading
    _write_rest(engine, folder, name)


def record_failed_start(engine: Engine, folder: Path) -> None:
    """A bundle of an engine that never listened, or that has ended: its command line and its
    log.
    """
    _clear(folder)
    _write_rest(engine, folder, "replica-0")


def add_gpu(folder: Path, shown: tuple[str, str], at: float) -> None:
    """What a vendor's tool said is in the bundle. `shown`: the kind (barostat.gpus.KINDS) and the
    text.
    """
    room = folder / "gpu" / "replica-0"
    room.mkdir(parents=True, exist_ok=True)
    (room / f"{int(at)}.{shown[0]}").write_text(shown[1])


def _host(before: Reading, after: Reading) -> dict[str, object]:
    """What the processes used between two readings, in cores."""
    span_s = after.at - before.at
    cores = {
        role: round((used - before.cpu_s[role]) / span_s, 3)
        for role, used in after.cpu_s.items()
        if role in before.cpu_s
    }
    return {
        "cpu_usage_cores": round(sum(cores.values()), 3),
        "cpu_limit_cores": os.cpu_count(),
        "processes": [
            {"name": role, "cpu_cores": used, "state": after.states[role]}
            for role, used in sorted(cores.items())
        ],
    }


def _write_rest(engine: Engine, folder: Path, name: str) -> None:
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "logs" / f"{name}.log").write_text(portable_log(engine))
    args = [
        argument.replace(str(engine.port), "8000")
        for argument in ["serve", "/models/tiny", *engine.arguments]
    ]
    replica = {
        "name": name,
        "version": engine.version,
        "args": args,
        "env": {**engine.base_env, **engine.env},
    }
    document = {
        "apiVersion": "barostat.dev/v1alpha1",
        "kind": "Bundle",
        "engine": "vllm",
        "replicas": [replica],
    }
    (folder / "bundle.yaml").write_text(yaml.safe_dump(document, sort_keys=False, width=140))


def portable_log(engine: Engine) -> str:
    """The engine's log without this machine: folders are those of a container, and what a bundle
    redacts is redacted.
    """
    log = engine.log_text()
    base = Path(os.__file__).resolve().parent.parent.parent
    for ours, theirs in {**engine.places, str(base): "/usr", f":{engine.port}": ":8000"}.items():
        log = log.replace(ours, theirs)
    return "".join(line + "\n" for line in log_lines(log.splitlines()) if "Route: " not in line)


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def main(arguments: list[str]) -> int:
    """The named scenarios (or all) are recorded in the folder."""
    target = Path(arguments[0])
    for one in [scenario(name) for name in arguments[1:]] or SCENARIOS:
        began = time.monotonic()
        with one.engine() as engine:
            if one.listens:
                engine.wait_ready(SLOW_START_S)
                with brought_about(one, engine) as load:
                    record(
                        engine, target / one.name, RECORDED_S if one.load else STILL_S, INTERVAL_S
                    )
                    print(load.counts.summary() if load else "no load")
            else:
                print(f"ended with {engine.wait_exit()}")
                record_failed_start(engine, target / one.name)
        print(f"{one.name}: {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
