"""What a rule about log lines is; and from a traceback's function names, the phase that an
out-of-memory error fell into.

A wording is matched by what its versions have in common, not by its whole text. Sources of the
rules: vLLM 0.1 to 0.33, PyTorch's c10 and ProcessGroupNCCL, NCCL, the CUDA and HIP runtimes' error
strings, huggingface_hub, argparse, pydantic and ray.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Level = Literal["any", "warning", "error"]
Phase = Literal["graph_capture", "startup", "serving", ""]
Says = Literal["failure", "no failure", "nothing"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for one kind of line. `hints`: the pattern is tried only if the line contains one of
    these.

    `level`: lowest level that counts; a line without a level counts as an error. `unless`: makes a
    matching line harmless. `starting`: a failure that can only happen before the engine is ready.
    `weak`: often a consequence of another failure, or a warning; it counts only if nothing stronger
    explains the life's end. `says`: whether the line reports a failure, a harmless fact that may
    explain how a start or a life ended, or neither.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    level: Level
    starting: bool
    weak: bool
    unless: re.Pattern[str] | None
    says: Says = "failure"


def rule(
    kind: str,
    hints: tuple[str, ...],
    wordings: tuple[str, ...],
    level: Level = "error",
    *,
    starting: bool = False,
    weak: bool = False,
    unless: tuple[str, ...] = (),
    says: Says = "failure",
) -> Rule:
    """Build a rule that matches any of these wordings."""
    return Rule(
        kind,
        hints,
        re.compile("|".join(wordings)),
        level,
        starting,
        weak,
        re.compile("|".join(unless)) if unless else None,
        says,
    )


EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*(?P<exception>[A-Z]\w*(?:Error|Exception|Exit|Failure|Failed|NotFound)(?:_\w+)?)(?::\s*(?P<what>.*))?$"
)
HARMLESS_EXCEPTIONS = frozenset(
    {
        "CancelledError",
        "HTTPException",
        "GeneratorExit",
        "BrokenPipeError",
        "ConnectionResetError",
        "SystemExit",
        "RequestValidationError",
    }
)

# Function names (and words) by phase. Capture lies inside start-up, so it is asked first.
_CAPTURE = (
    "capture_model", "compile_or_warm_up_model", "_dummy_sampler_run", "_dummy_pooler_run", "_capture_cudagraphs", "capture_graphs",
    "warming up", "graph_capture", "torch.cuda.graph", "capture_begin", "capture_end", "_warm_up", "kernel_warmup", "Capturing",
)  # fmt: skip
# A compiled model is called through its graph's wrapper (compilation/cuda_graph.py) at work and
# while memory is profiled, too.
_GRAPHS = ("cuda_graph", "cudagraph", "CUDAGraph")
_STARTUP = (
    "load_model", "profile_run", "determine_available_memory", "determine_num_available_blocks", "initialize_kv_cache", "init_device",
    "initialize_from_config", "_initialize_kv_caches", "initialize_cache", "load_weights", "create_weights", "_init_executor",
    "make_layers", "process_weights_after_loading", "initialize_model", "_allocate_kv_cache", "profile_num_available_blocks",
    "_init_cache_engine", "allocate_gpu_cache", "init_worker", "model_loader", "profile_torch_run", "_dummy_run", "from_engine_args",
    "profile_multimodal", "vit_attn_wrappers", "CacheEngine", "get_kv_cache_spec",
)  # fmt: skip
_SERVING = (
    "execute_model", "sample_tokens", "run_busy_loop", "_process_engine_step", "step_with_batch_queue", "_execute_worker_rpc",
    "step_async", "run_engine_loop", "engine_step", "run_output_handler", "create_completion", "create_chat_completion",
    "_execute_mm_encoder", "_preprocess", "worker_busy_loop",
)  # fmt: skip


# The loops and handlers that only run once a start is over.
_SERVES = (
    "run_busy_loop", "_process_engine_step", "step_with_batch_queue", "run_engine_loop", "engine_step", "execute_model", "sample_tokens",
    "run_output_handler", "create_completion", "create_chat_completion",
)  # fmt: skip


def phase_of(words: str) -> Phase:
    """Return the phase named by a traceback's frames, or "". An earlier phase takes precedence over
    a later one whose frames contain it.

    V0 profiles through `execute_model`, so that name alone means serving only without a start-up
    frame.
    """
    if any(word in words for word in _CAPTURE):
        return "graph_capture"
    if any(word in words for word in _STARTUP):
        return "startup"
    if any(word in words for word in _SERVING):
        return "serving"
    return "graph_capture" if any(word in words for word in _GRAPHS) else ""


def in_service(frames: str, file: str) -> bool:
    """True if an error was met at work: in the engine's loop, or (`file`, that of its line's stamp)
    by a handler of requests.
    """
    if file.rpartition("/")[2].startswith("serving"):
        return True
    return phase_of(frames) == "serving" and any(word in frames for word in _SERVES)
