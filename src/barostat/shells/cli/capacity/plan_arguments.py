"""What a plan can be made from, as arguments: of `barostat plan`, and of each card that it
compares.
"""

from __future__ import annotations

import argparse

from barostat.shells.cli.engine_options import add_engine_settings

START_FORMATS = ("args", "serve", "helm", "kustomize", "compose")
FORMATS = ("table", "json", "yaml", "md", "html", "limits", *START_FORMATS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a plan can be made from; also the grammar of one --compare."""
    what = parser.add_argument_group("model and card")
    what.add_argument(
        "--model",
        metavar="NAME",
        help="a model of the built-in catalogue (list: all of them), a folder, or a config.json",
    )
    what.add_argument("--model-config", metavar="FILE", help="the model's config.json")
    what.add_argument(
        "--draft-model-config",
        metavar="FILE",
        help="config.json of the drafter that --speculative-config names",
    )
    what.add_argument(
        "--gpu",
        metavar="NAME",
        help=(
            "card by any of its names, and how many: H100, 4xA100 (list: all of them); cpu for "
            "vLLM's CPU backend"
        ),
    )
    what.add_argument(
        "--gpu-memory-gib",
        type=float,
        metavar="N",
        help="total memory of one card as the engine sees it",
    )
    what.add_argument(
        "--available-kv-gib",
        type=float,
        metavar="N",
        help="KV memory per GPU, as a log states it ('Available KV cache memory')",
    )
    what.add_argument(
        "--cpu-kvcache-space-gib",
        type=float,
        metavar="N",
        help="VLLM_CPU_KVCACHE_SPACE of the CPU backend",
    )
    what.add_argument(
        "--weights-gib",
        type=float,
        metavar="N",
        help="weights per GPU, as a log states it ('Model loading took')",
    )
    what.add_argument("--engine-version", metavar="X.Y.Z", help="vLLM's version (default 0.32.0)")
    what.add_argument(
        "--from",
        dest="source",
        metavar="URL|deploy/NAME|BUNDLE",
        help="a running engine or a recorded bundle: measured beats computed",
    )
    what.add_argument(
        "-n", "--namespace", metavar="NS", help="namespace of the workload that --from names"
    )
    what.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    what.add_argument(
        "--kubeconfig", metavar="FILE", help="kubeconfig, where it is not the usual one"
    )
    add_engine_settings(parser)
    traffic = parser.add_argument_group("traffic")
    traffic.add_argument(
        "--trace",
        metavar="FILE",
        help=(
            "requests: Azure, Mooncake, BurstGPT, ServeGen CSV or JSONL, or rows of ours (may "
            "be .gz)"
        ),
    )
    for name in ("input-p50", "input-p99", "output-p50", "output-p99"):
        traffic.add_argument(f"--{name}", type=float, metavar="TOKENS")
    traffic.add_argument(
        "--headroom",
        type=float,
        default=0.10,
        metavar="RATIO",
        help="share of the pool kept free (default 0.10)",
    )
    need = parser.add_argument_group("which cards, and how many (with --for)")
    need.add_argument(
        "--for",
        dest="need",
        metavar="'LOAD SHAPE'",
        help=(
            "'10/s input=2000 output=300', '200 users input=2000 output=300 think=20'; cv=, spread="
        ),
    )
    need.add_argument(
        "--slo",
        metavar="ttft=T,itl=T",
        help=(
            "what 99 of 100 requests keep: time to the first token, mean time between tokens; "
            "also with -o limits"
        ),
    )
    need.add_argument(
        "--price",
        action="append",
        metavar="CARD=N,...",
        help="what an hour of one card costs: then ranked by cost; also with --compare",
    )
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "--compare",
        action="append",
        metavar="'GPU [FLAGS]'",
        help="cards side by side, in one table: H100,4xL40S; or one with flags; may be repeated",
    )
    shown.add_argument(
        "-o",
        "--output",
        choices=FORMATS,
        default="table",
        help="form (default table); args, serve, helm, kustomize and compose start the planned engine",
    )
    shown.add_argument("--exit-zero", action="store_true", help="exit 0 also when it does not fit")
