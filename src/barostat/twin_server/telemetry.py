"""The API server's metrics page and log."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import resource
import sys
import time
from pathlib import Path

from barostat.engines.vllm.logs.writer import API, Entry, StatisticsLine, line
from barostat.engines.vllm.metrics.engine_metrics import EngineMetrics
from barostat.engines.vllm.metrics.exposition_writer import Counter, Gauge, Metric, labels_of, page
from barostat.engines.vllm.metrics.http_metrics import HttpMetrics
from barostat.engines.vllm.served_stats import IterationStats, SchedulerStats
from barostat.twin_server.serving import Serving


class Telemetry:
    """Metrics and log of one server. Mutable."""

    def __init__(self, serving: Serving, core_pid: int) -> None:
        now_s = time.time()
        self._serving = serving
        self._core_pid = core_pid
        self.metrics = EngineMetrics(
            serving.version,
            serving.name,
            serving.settings.max_model_len,
            serving.cache_labels,
            now_s,
        )
        self.http = HttpMetrics(now_s)
        self.statistics = StatisticsLine(serving.version, serving.start.device, time.monotonic())

    def scheduler(self, stats: SchedulerStats) -> None:
        """A step has ended so."""
        self.metrics.scheduler(stats)
        self.statistics.scheduler(stats)

    def iteration(self, stats: IterationStats) -> None:
        """A batch of outputs has been taken in."""
        self.metrics.iteration(stats)
        self.statistics.iteration(stats)

    def page(self) -> str:
        """Return the /metrics page."""
        engine = self.metrics.metrics if self._serving.log_stats else []
        return page([*_interpreter(), *_process(), *engine, *self.http.metrics])

    def log(self, level: str, place: str, text: str) -> None:
        """A line of the API server's log."""
        self.write((API, level, place, text))

    def write(self, entry: Entry) -> None:
        """A line of the log of either process."""
        process, level, place, text = entry
        pid = os.getpid() if process == API else self._core_pid
        with contextlib.suppress(
            OSError
        ):  # nobody reads the log (its pipe is closed): the server goes on, and ends when told
            print(
                line(process, pid, level, time.strftime("%m-%d %H:%M:%S"), place, text),
                file=sys.stderr,
                flush=True,
            )


def _interpreter() -> list[Metric]:
    """Source: prometheus_client 0.26, gc_collector and platform_collector."""
    collected = Counter("python_gc_objects_collected", "Objects collected during gc.")
    uncollectable = Counter("python_gc_objects_uncollectable", "Objects that gc could not collect.")
    collections = Counter("python_gc_collections", "Times that this generation was collected.")
    found = [collected, uncollectable, collections]
    names = ("collected", "uncollectable", "collections")
    for generation, counts in enumerate(gc.get_stats()):
        labels = labels_of({"generation": str(generation)})
        for counter, name in zip(found, names, strict=True):
            counter.begin_undated(labels)
            counter.add(counts[name], labels)
    info = Gauge("python_info", "The interpreter.")
    major, minor, patch = platform.python_version_tuple()
    info.set(
        1.0,
        labels_of(
            {"implementation": platform.python_implementation(), "major": major, "minor": minor, "patchlevel": patch,
             "version": platform.python_version()}
        ),
    )  # fmt: skip
    return [*found, info]


def _process() -> list[Metric]:
    """Source: prometheus_client 0.26, process_collector; proc(5)."""
    found: list[Metric] = []

    def gauge(name: str, words: str, value: float) -> None:
        one = Gauge(name, words)
        one.set(value)
        found.append(one)

    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        booted_s = next(
            float(text.split()[1])
            for text in Path("/proc/stat").read_text().splitlines()
            if text.startswith("btime")
        )
        hertz = os.sysconf("SC_CLK_TCK")
        gauge("process_virtual_memory_bytes", "Virtual memory in bytes.", float(fields[20]))
        gauge(
            "process_resident_memory_bytes",
            "Resident memory in bytes.",
            float(fields[21]) * resource.getpagesize(),
        )
        gauge(
            "process_start_time_seconds",
            "When the process began, unix seconds.",
            booted_s + int(fields[19]) / hertz,
        )
        cpu = Counter("process_cpu_seconds", "CPU time of the process in seconds.")
        cpu.begin_undated()
        cpu.add((int(fields[11]) + int(fields[12])) / hertz)
        found.append(cpu)
        gauge("process_open_fds", "Open file descriptors.", float(len(os.listdir("/proc/self/fd"))))  # noqa: PTH208
        gauge(
            "process_max_fds",
            "Most file descriptors.",
            float(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        )
    except (OSError, StopIteration, IndexError, ValueError):
        return found
    return found
