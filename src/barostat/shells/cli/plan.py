"""`barostat plan`: how much fits, and which limits follow."""

from __future__ import annotations

import argparse
import sys
from typing import Any

FORMATS = ("table", "json", "yaml", "md", "html", "limits", "args")

EPILOG = """\
examples:
  barostat plan --model Qwen/Qwen3-8B --gpu H100                       a model and a card from the built-in catalogue
  barostat plan --model-config ./config.json --gpu L40S --tp 2         any model's config.json
  barostat plan --gpu H100 -- vllm serve Qwen/Qwen3-8B --max-model-len 32768
  barostat plan --model Qwen/Qwen3-8B --available-kv-gib 57.5          the pool as the engine's log states it
  barostat plan --model Qwen/Qwen3-8B --gpu H100 --trace azure_conv.csv.gz -o limits > limits.yaml
  barostat plan --model Qwen/Qwen3-8B --compare H100 --compare "A100 --tp 2" --compare "L40S --kv-cache-dtype fp8"
  barostat plan --from http://localhost:8000 --model Qwen/Qwen3-8B     what a running engine really has
  barostat plan --from deploy/vllm -n inference --model Qwen/Qwen3-8B  the same for one in a cluster

exit codes: 0 fits, 1 does not fit, 2 wrong configuration, 3 unknown architecture, 4 the engine could not be asked
"""

# Flags that are vLLM's own, passed on as they are: our spelling -> vLLM's.
PASSED = {
    "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size", "dcp": "decode-context-parallel-size",
    "dtype": "dtype", "quantization": "quantization", "kv_cache_dtype": "kv-cache-dtype", "block_size": "block-size",
    "max_model_len": "max-model-len", "max_num_seqs": "max-num-seqs", "max_num_batched_tokens": "max-num-batched-tokens",
    "gpu_memory_utilization": "gpu-memory-utilization", "kv_cache_memory_bytes": "kv-cache-memory-bytes",
    "num_gpu_blocks_override": "num-gpu-blocks-override", "speculative_config": "speculative-config",
}  # fmt: skip


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "plan",
        help="how much fits on a GPU, and which limits follow",
        description="From a model, a card and vLLM's flags: KV memory, blocks, tokens, requests, whether it starts, what limits follow.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    parser.add_argument("command", nargs="*", metavar="-- vllm serve ...", help="vLLM's own command line")
    parser.set_defaults(run=run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a plan can be made from; also the grammar of one --compare."""
    what = parser.add_argument_group("model and card")
    what.add_argument("--model", metavar="NAME", help="a model of the built-in catalogue, a folder, or a config.json")
    what.add_argument("--model-config", metavar="FILE", help="the model's config.json")
    what.add_argument("--draft-model-config", metavar="FILE", help="config.json of the drafter that --speculative-config names")
    what.add_argument(
        "--gpu", metavar="NAME", help="card, by any of its names (H100, 'NVIDIA A100-SXM4-80GB', MI300X); cpu for vLLM's CPU backend"
    )
    what.add_argument("--gpu-memory-gib", type=float, metavar="N", help="total memory of one card as the engine sees it")
    what.add_argument(
        "--available-kv-gib", type=float, metavar="N", help="KV memory per GPU, as a log states it ('Available KV cache memory')"
    )
    what.add_argument("--cpu-kvcache-space-gib", type=float, metavar="N", help="VLLM_CPU_KVCACHE_SPACE of the CPU backend")
    what.add_argument("--weights-gib", type=float, metavar="N", help="weights per GPU, as a log states it ('Model loading took')")
    what.add_argument("--engine-version", metavar="X.Y.Z", help="vLLM's version (default: the newest known)")
    what.add_argument(
        "--from", dest="source", metavar="URL|deploy/NAME|BUNDLE", help="a running engine or a recorded bundle: measured beats computed"
    )
    what.add_argument("-n", "--namespace", metavar="NS", help="namespace of the workload that --from names")
    what.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    what.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig, where it is not the usual one")
    flags = parser.add_argument_group("vLLM's flags, by its own names")
    for ours, theirs in PASSED.items():
        names = [f"--{ours.replace('_', '-')}"] + ([f"--{theirs}"] if theirs != ours.replace("_", "-") else [])
        flags.add_argument(*names, dest=ours, metavar="V")
    flags.add_argument("--enforce-eager", action="store_true")
    for switch in ("async-scheduling", "enable-prefix-caching"):
        flags.add_argument(f"--{switch}", action=argparse.BooleanOptionalAction, default=None)
    flags.add_argument("--disable-hybrid-kv-cache-manager", action="store_true")
    traffic = parser.add_argument_group("traffic")
    traffic.add_argument(
        "--trace", metavar="FILE", help="requests: Azure, Mooncake, BurstGPT, ServeGen CSV or JSONL, or rows of ours (may be .gz)"
    )
    for name in ("input-p50", "input-p99", "output-p50", "output-p99"):
        traffic.add_argument(f"--{name}", type=float, metavar="TOKENS")
    traffic.add_argument("--headroom", type=float, default=0.10, metavar="RATIO", help="share of the pool kept free (default 0.10)")
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "--compare", action="append", metavar="'GPU [FLAGS]'", help="another card or set of flags, in one table; may be repeated"
    )
    shown.add_argument("-o", "--output", choices=FORMATS, default="table", help="form (default table)")
    shown.add_argument("--exit-zero", action="store_true", help="exit 0 also when it does not fit")


def run(arguments: argparse.Namespace) -> int:
    """Plan, print; answer 0 fits, 1 does not, 3 unknown architecture."""
    from barostat.shells.cli import plan_compare, plan_inputs, plan_views

    if arguments.compare:
        return plan_compare.run(arguments)
    asked = plan_inputs.asked(arguments)
    for note in asked.notes:
        print(f"barostat: {note}", file=sys.stderr)
    answer = plan_inputs.answer(asked)
    print(plan_views.render(answer, arguments.output))
    if not answer.plan.request.model.known:
        print(f"barostat: {answer.plan.request.model.notes[-1]}", file=sys.stderr)
        return 3
    return 0 if answer.plan.fits or arguments.exit_zero else 1
