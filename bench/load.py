"""The load generator: ours beside `vllm bench serve` and guidellm, on the real engine and on the
twin, the same work.

    make vllm load-peers && python bench/load.py [--only real|twin|streams] [--requests 120] [--rate
    4] [--streams 2000] [--json FILE]

The same work: Poisson arrivals at one rate, prompts of so many tokens, answers of so many tokens,
streamed. Each tool draws its own arrivals, so figures differ by chance; ours twice says by how
much. Processor time per stream is the slope between a quarter of the requests and all of them: what
a tool needs to start is not in it.

The last lines: so many streams at once from an upstream in C (bench/gateway_peers), this process
alone on its core: whether it keeps up.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.gateway_peers.measure import LOAD_CORE, PROXY_CORE, Served, built
from dev.engine import ENVIRONMENT, Engine, is_installed, model_folder
from dev.setup_load_peers import program
from dev.twin_engine import BAROSTAT, TwinEngine

from barostat.io.engine_http.address import address
from barostat.judge.load_test.figures import figures
from barostat.judge.load_test.traffic import Traffic, with_clients
from barostat.load.process import carried_out
from barostat.load.prompts import WordCount
from barostat.load.run import RunBounds
from barostat.load.target import Target
from barostat.twin.request import Row

INPUT, OUTPUT = 256, 64
COLUMNS = (
    "requests/s",
    "tokens/s",
    "TTFT mean",
    "TTFT p99",
    "per token",
    "ITL p99",
    "failed",
    "cpu ms",
)
TWIN_PACE = "base=0.006,prefill=0.00002,decode=0.0004"
_STREAM_TOKENS, _STREAM_GAP_US = 100, 100_000
Row_ = dict[str, float]


@dataclass(frozen=True)
class Work:
    """What each tool is asked for."""

    url: str
    requests: int
    rate: float
    folder: Path

    @property
    def model(self) -> str:
        """A folder with the model's tokenizer, for those that need one."""
        return str(model_folder("tiny"))


def ours(work: Work) -> Row_:
    """`barostat load`."""
    spec = f"poisson:rate={work.rate},minutes={work.requests / work.rate / 60},input={INPUT},output={OUTPUT},spread=0"
    found = json.loads(
        _said(
            [str(BAROSTAT), "load", work.url, "--workload", spec, "-o", "json", "--quiet"],
            ok=(0, 1),
        )
    )
    failed = found["requests"]["sent"] - found["requests"]["ok"]
    throughput = found["throughput"]
    latencies = [
        ("ttftSeconds", "mean"),
        ("ttftSeconds", "p99"),
        ("secondsPerToken", "mean"),
        ("itlSeconds", "p99"),
    ]
    rates = (throughput["requestsPerSecond"], throughput["outputTokensPerSecond"])
    values = (*rates, *(found[name][part] * 1000 for name, part in latencies), failed)
    return {**_row(*values), "sent": found["requests"]["sent"]}


def vllm_bench(work: Work) -> Row_:
    """`vllm bench serve`."""
    _said([
        str(ENVIRONMENT / "bin" / "vllm"), "bench", "serve", "--backend", "openai", "--base-url", work.url, "--model", "tiny",
        "--tokenizer", work.model, "--dataset-name", "random", "--random-input-len", str(INPUT), "--random-output-len", str(OUTPUT),
        "--random-range-ratio", "0", "--num-prompts", str(work.requests), "--request-rate", str(work.rate), "--ignore-eos",
        "--disable-tqdm", "--save-result", "--result-dir", str(work.folder), "--result-filename", "vllm.json",
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
    ])  # fmt: skip
    found = json.loads((work.folder / "vllm.json").read_text())
    failed = work.requests - found["completed"]
    names = (
        "request_throughput",
        "output_throughput",
        "mean_ttft_ms",
        "p99_ttft_ms",
        "mean_tpot_ms",
        "p99_itl_ms",
    )
    return {**_row(*(found[name] for name in names), failed), "sent": work.requests}


def guidellm(work: Work) -> Row_:
    """guidellm's benchmark."""
    out = work.folder / "guidellm.json"
    _said([
        str(program()), "run", "--backend", f"kind=openai_http,target={work.url},model=tiny,request_format=/v1/completions",
        "--profile", f"kind=poisson,rate={work.rate}", "--constraint", f"kind=max_requests,count={work.requests}",
        "--tokenizer", f"kind=hf_auto,model={work.model}", "--output", f"kind=json,path={out}", "--disable-console",
        "--data", f"kind=synthetic_text,prompt_tokens={INPUT},output_tokens={OUTPUT}",
    ])  # fmt: skip
    metrics = json.loads(out.read_text())["benchmarks"][0]["metrics"]

    def of(name: str, *path: str) -> float:
        place: Any = metrics[name]["successful"]
        for step in path:
            place = place[step]
        return float(place)

    done = of("request_latency", "count")
    values = (of("requests_per_second", "mean"), of("output_tokens_per_second", "mean"), of("time_to_first_token_ms", "mean"),
              of("time_to_first_token_ms", "percentiles", "p99"), of("inter_token_latency_ms", "mean"),
              of("inter_token_latency_ms", "percentiles", "p99"), work.requests - done)  # fmt: skip
    return {**_row(*values), "sent": work.requests}


def _row(*values: float) -> Row_:
    return dict(zip(COLUMNS, values, strict=False))


def _said(command: list[str], ok: tuple[int, ...] = (0,)) -> str:
    quiet = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
    }
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=900, env=quiet
    )
    if done.returncode not in ok:
        raise RuntimeError(
            f"{' '.join(command[:3])} ended with "
            f"{done.returncode}:\n{done.stdout[-800:]}{done.stderr[-1500:]}"
        )
    return done.stdout


def measured(tool: Callable[[Work], Row_], work: Work) -> Row_:
    """All the work, with the processor time that one more stream costs."""
    few, cpu_few = _timed(tool, Work(work.url, max(8, work.requests // 4), work.rate, work.folder))
    row, cpu = _timed(tool, work)
    row["cpu ms"] = 1000 * (cpu - cpu_few) / max(1.0, row.pop("sent") - few["sent"])
    return row


def _timed(tool: Callable[[Work], Row_], work: Work) -> tuple[Row_, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    row = tool(work)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return row, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _rows(tools: dict[str, Callable[[Work], Row_]], work: Work) -> Iterator[tuple[str, Row_]]:
    """A line for each tool as soon as it is known; why another has none is said."""
    for name, call in tools.items():
        try:
            row = measured(call, work)
        except (RuntimeError, KeyError) as error:
            print(f"{name:22} not measured: {error}", flush=True)
            continue
        print(f"{name:22}" + "".join(f"{row[column]:>12.4g}" for column in COLUMNS), flush=True)
        yield name, row


class _Paced(Target):
    """The upstream in C: by max_tokens and seed it is told how many events to send and how far
    apart.
    """

    def body(self, prompt: bytes, output_tokens: int, priority: int = 0) -> bytes:
        """With the seed."""
        return b'{"seed":%d,%b' % (
            _STREAM_GAP_US,
            super().body(prompt, output_tokens, priority)[1:],
        )


def many_streams(count: int, for_s: float) -> None:
    """So many streams at once, this process alone on its core."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        built(Path(made))
        upstream = Served(
            [str(Path(made) / "upstream"), "21690"], 21690, Path(made) / "log", PROXY_CORE
        )
        stack.callback(upstream.close)
        if why := upstream.wait(5):
            raise SystemExit(f"upstream: {why}")
        os.sched_setaffinity(0, {int(LOAD_CORE)})
        target = _Paced(address("http://127.0.0.1:21690"), "chat", "m", counted=WordCount(0, 1))
        rows = tuple(Row(str(place), 0.0, 64, _STREAM_TOKENS) for place in range(count))
        found = figures(
            carried_out(target, with_clients(Traffic(rows), count), RunBounds(for_s, 30.0))
        )
        events, keeping = found.output_tokens_per_s, found.keeping
        print(
            f"{count:,} streams: {found.ok:,} ended, {found.errors} failed, most at once "
            f"{found.peak:,}, {events:,.0f} events/s"
        )
        print(
            f"  {keeping.cpu_ratio:.0%} of one core, "
            f"{1e6 * keeping.cpu_ratio / max(events, 1):.1f} us for an event"
        )
        print(
            f"  gap p50 {1000 * (found.itl.p50 or 0):.1f} ms, p99 "
            f"{1000 * (found.itl.p99 or 0):.1f} ms, {_STREAM_GAP_US / 1000:g} ms meant"
        )
        print(
            f"  loop {1000 * (keeping.lag_p99_s or 0):.1f} ms late at p99; "
            f"{keeping.trouble or 'kept up'}"
        )


def main() -> int:
    """The tables."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--only", choices=("real", "twin", "streams"))
    arguments.add_argument("--requests", type=int, default=120)
    arguments.add_argument("--rate", type=float, default=4.0)
    arguments.add_argument("--streams", type=int, default=2000)
    arguments.add_argument("--json", type=Path)
    asked = arguments.parse_args()
    tools: dict[str, Callable[[Work], Row_]] = {"barostat load": ours, "barostat load again": ours}
    if is_installed():
        tools["vllm bench serve"] = vllm_bench
    if program() is not None:
        tools["guidellm"] = guidellm
    told: dict[str, Any] = {}
    engines: dict[str, Callable[[], Engine]] = {
        "real": lambda: Engine("--max-num-seqs", "32"),
        "twin": lambda: TwinEngine("--max-num-seqs", "32", latency=TWIN_PACE),
    }
    for name, make in engines.items():
        if asked.only not in (None, name) or (name == "real" and not is_installed()):
            continue
        with make() as engine, tempfile.TemporaryDirectory() as folder:
            engine.wait_ready()
            work = Work(engine.url, asked.requests, asked.rate, Path(folder))
            ours(Work(engine.url, 8, 4.0, Path(folder)))  # warm
            print(
                f"\n{name}: {asked.requests} requests at {asked.rate:g}/s, {INPUT} tokens "
                f"in, {OUTPUT} out; times in ms"
            )
            print(f"{'':22}" + "".join(f"{column:>12}" for column in COLUMNS))
            told[name] = dict(_rows(tools, work))
    if asked.only in (None, "streams"):
        many_streams(asked.streams, 20.0)
    if asked.json is not None:
        asked.json.write_text(json.dumps(told, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
