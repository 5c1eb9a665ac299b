"""What a plan can be made from, as arguments: of `barostat plan`, and of each card that it
compares.
"""

from __future__ import annotations

import argparse

from barostat.core.errors import InputError
from barostat.shells.cli.cluster_flags import add_kubeconfig_flags
from barostat.shells.cli.engine_options import add_engine_settings

START_FORMATS = ("args", "serve", "helm", "kustomize", "compose")
_VIEWS = ("table", "json", "md", "html")
FORMATS_OF: dict[str, tuple[str, ...]] = {
    "": ("table", "json", "yaml", "md", "html", "limits", *START_FORMATS),
    "--compare": _VIEWS,
    "--for": _VIEWS,
}
"""What `-o` takes: for one plan, and with the argument that asks for another answer."""
FORMATS = tuple(dict.fromkeys(name for names in FORMATS_OF.values() for name in names))


def refuse_other_formats(arguments: argparse.Namespace) -> None:
    """Errors: InputError for a format that this answer does not come in."""
    asked = "--for" if arguments.need is not None else "--compare" if arguments.compare else ""
    formats, output = FORMATS_OF[asked], arguments.output
    if output not in formats:
        what = {"": "a plan", "--compare": "a comparison", "--for": "the answer"}[asked]
        raise InputError(
            f"{what} comes as {', '.join(formats[:-1])} or {formats[-1]}, not as {output}",
            f"{asked} -o {output}".strip(),
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a plan can be made from; also the grammar of one --compare."""
    what = parser.add_argument_group("model and card")
    what.add_argument(
        "--model",
        metavar="NAME",
        help="model name from the catalogue, folder or config.json; `list` prints the catalogue",
    )
    what.add_argument("--model-config", metavar="FILE", help="config.json of the model")
    what.add_argument(
        "--draft-model-config",
        metavar="FILE",
        help="config.json of the draft model in --speculative-config",
    )
    what.add_argument(
        "--gpu",
        metavar="NAME",
        help=(
            "card and count, e.g. H100 or 4xA100; `list` prints all cards; `cpu` is vLLM's CPU "
            "backend"
        ),
    )
    what.add_argument(
        "--gpu-memory-gib",
        type=float,
        metavar="N",
        help="total memory of one card, in GiB (default: the card's)",
    )
    what.add_argument(
        "--available-kv-gib",
        type=float,
        metavar="N",
        help="KV cache memory per GPU, in GiB: `Available KV cache memory` in the engine's log",
    )
    what.add_argument(
        "--cpu-kvcache-space-gib",
        type=float,
        metavar="N",
        help="KV cache of the CPU backend, in GiB (VLLM_CPU_KVCACHE_SPACE)",
    )
    what.add_argument(
        "--weights-gib",
        type=float,
        metavar="N",
        help="weights per GPU, in GiB: `Model loading took` in the engine's log",
    )
    what.add_argument(
        "--engine-version", metavar="X.Y.Z", help="vLLM version to plan for (default 0.32.0)"
    )
    what.add_argument(
        "--from",
        dest="source",
        metavar="URL|deploy/NAME|BUNDLE",
        help="use measurements from a running engine or a bundle",
    )
    add_kubeconfig_flags(what, "the --from workload")
    add_engine_settings(parser)
    traffic = parser.add_argument_group("traffic")
    traffic.add_argument(
        "--trace",
        metavar="FILE",
        help=(
            "request trace: Azure, Mooncake, BurstGPT or ServeGen as CSV or JSONL, or barostat's "
            "own rows; may be gzipped. With --for: the load to plan for"
        ),
    )
    for name in ("input-p50", "input-p99", "output-p50", "output-p99"):
        side, quantile = name.split("-")
        traffic.add_argument(
            f"--{name}",
            type=float,
            metavar="TOKENS",
            help=f"{quantile} of the {side} lengths, in tokens",
        )
    traffic.add_argument(
        "--headroom",
        type=float,
        default=0.10,
        metavar="RATIO",
        help="share of the KV pool to keep free, 0 to 1 (default 0.10)",
    )
    need = parser.add_argument_group("cards for a load")
    need.add_argument(
        "--for",
        dest="need",
        metavar="'LOAD SHAPE'",
        help=(
            "load to serve: '10/s input=2000 output=300' or '200 users input=2000 output=300 "
            "think=20' (tokens, seconds); cv= sets how bursty arrivals are, spread= how much lengths vary. With --trace "
            "FILE: 'trace' for its recorded rate, '2x' for twice that, '10/s' for 10 requests/s"
        ),
    )
    need.add_argument(
        "--slo",
        metavar="ttft=T,itl=T",
        help=(
            "p99 of time to first token and of mean time between tokens, e.g. ttft=2s,itl=50ms; "
            "with --for or -o limits"
        ),
    )
    need.add_argument(
        "--price",
        action="append",
        metavar="CARD=N,...",
        help="price of a card per hour, e.g. H100=2.5; ranks by cost; with --for or --compare",
    )
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "--compare",
        action="append",
        metavar="'GPU [FLAGS]'",
        help="compare cards in one table: H100,4xL40S, or one card with vLLM flags; repeatable",
    )
    shown.add_argument(
        "-o",
        "--output",
        choices=FORMATS,
        default="table",
        help="format (default table); args, serve, helm, kustomize and compose start the planned engine",
    )
    shown.add_argument(
        "--exit-zero", action="store_true", help="exit 0 instead of 1 if it does not start"
    )
