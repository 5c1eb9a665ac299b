"""`barostat twin`: vLLM's HTTP API in front of the twin, in real time, without a GPU."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from barostat.shells.cli.durations import parse_duration, seconds
from barostat.shells.cli.simulate.simulate import add_engine_arguments, add_pace_arguments

EPILOG = """\
examples:
  barostat twin --model-config Qwen/Qwen3-8B --gpu H100 --port 8000
  barostat twin --gpu H100 -- vllm serve Qwen/Qwen3-8B --max-model-len 8192 --max-num-seqs 64
  barostat twin --kv-blocks 400 --max-model-len 4096 --latency base=0.02,decode=0.0005 --fault oom@30s
  barostat twin --gpu H100 -- vllm serve Qwen/Qwen3-8B --runner pooling   # embeddings

faults: oom@30s, kill@30s, hang@20s, hang@20s+15s, slow-steps=3@20s, slow-network=200ms, throttle-cpu=0.2 (times from when it listens)
Answers are random words, always the same for the same prompt and seed. A token is about four characters.
These have no effect: sampling parameters, stop, logprobs, tools, response formats.
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "twin",
        help=(
            "serve vLLM's HTTP API, metrics and log from a simulation: for demos, tests and "
            "drills without a GPU"
        ),
        description=(
            "Behave like a vLLM with this configuration, step for step and in real time: API, "
            "metrics, log lines and errors."
        ),
        epilog=EPILOG,
    )
    add_pace_arguments(parser)
    add_engine_arguments(parser)
    served = parser.add_argument_group("server")
    served.add_argument("--host", metavar="ADDRESS", help="default 127.0.0.1: this machine only")
    served.add_argument("--port", type=int, metavar="N", help="default 8000")
    served.add_argument(
        "--served-model-name",
        action="append",
        default=[],
        metavar="NAME",
        help="model name in requests; repeatable",
    )
    served.add_argument(
        "--runner",
        choices=("generate", "pooling"),
        help="serve text (generate) or embeddings (pooling); default: by the model's name",
    )
    served.add_argument(
        "--output-tokens",
        metavar="MEAN[,SIGMA]",
        help="length of answers without a limit, in tokens",
    )
    served.add_argument(
        "--tokenizer-speed",
        type=float,
        default=3e6,
        metavar="BYTES/S",
        help="bytes tokenized per second of CPU time (default 3e6)",
    )
    served.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="FAULT",
        help="fault to inject, see below; repeatable",
    )
    served.add_argument(
        "--start-time",
        type=parse_duration,
        default=0.0,
        metavar="S",
        help="simulated loading time before it listens",
    )
    served.add_argument(
        "--shutdown-timeout",
        type=seconds,
        default=0.0,
        metavar="S",
        help="at SIGTERM, wait this long for running requests",
    )
    served.add_argument(
        "--log-stats-interval",
        type=parse_duration,
        default=10.0,
        metavar="S",
        help="time between statistics lines (default 10s)",
    )
    served.add_argument(
        "--disable-log-stats", action="store_true", help="no vllm: metrics and no statistics line"
    )
    served.add_argument(
        "--disable-uvicorn-access-log", action="store_true", help="no line per request"
    )
    served.add_argument(
        "--cpu-kvcache-space-gib",
        type=float,
        metavar="N",
        help="KV cache of vLLM's CPU backend, in GiB (with --gpu cpu)",
    )
    parser.add_argument(
        "command", nargs="*", metavar="-- vllm serve ...", help="vLLM's own command line"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve; answer 0 when told to stop, else as vLLM would have ended."""
    from barostat.twin_server.interrupts import remembered

    with remembered() as interrupted:
        from barostat.shells.cli.simulate.twin_inputs import Unstartable, serving_of

        made = serving_of(arguments)
        if isinstance(made, Unstartable):
            print(made.text, file=sys.stderr)
            return made.code
        from barostat.twin_server.server import serve

        serving, notes = made
        for note in notes:
            print(f"barostat: {note}", file=sys.stderr)
        return serve(serving, interrupted)
