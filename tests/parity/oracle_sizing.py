"""Runs inside the environment of the real vLLM: its own model classes and its own sizing functions,
on CPU, without weights.

Reads a JSON list of cases on stdin, writes one JSON line per case:
    {"config": {...}, "flags": {...}, "availableBytes": [n per pipeline stage]}     specs from vLLM's model class
    {"specs": [[kind, fields], ...per stage], "flags": ..., "availableBytes": ...}  specs made by
    hand -> {"specs": "model"|"hand", "blocks", "tokens", "concurrency", "blockSize", "fits",
    "longest"} or {"error": text}
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import vllm.distributed.parallel_state as parallel_state
from vllm.config import (
    CacheConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    VllmConfig,
    set_current_vllm_config,
)
from vllm.config.device import DeviceConfig
from vllm.v1 import kv_cache_interface as interface
from vllm.v1.core import kv_cache_utils as sizing


def _gpu_block_sizes() -> None:
    """The CPU's attention backends with the block sizes of a GPU's: any multiple of 16."""
    from vllm.v1.attention.backend import MultipleOf
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend

    CPUAttentionBackend.get_supported_kernel_block_sizes = staticmethod(lambda *_: [MultipleOf(16)])


def _same_states_everywhere() -> None:
    """States in float32 on every processor: the CPU platform makes it so only where there is
    AVX-512 for bfloat16.
    """
    torch.cpu._is_avx512_bf16_supported = lambda: True


def _vllm_config(folder: Path, flags: dict[str, Any]) -> VllmConfig:
    model = ModelConfig(
        model=str(folder), skip_tokenizer_init=True, dtype=flags.get("dtype", "bfloat16"), max_model_len=flags["maxModelLen"], seed=0,
        trust_remote_code=False,
    )  # fmt: skip
    cache = CacheConfig(
        block_size=flags.get("blockSize", 16),
        enable_prefix_caching=flags.get("prefixCaching", True),
        cache_dtype=flags.get("kvCacheDtype", "auto"),
        num_gpu_blocks_override=flags.get("numGpuBlocksOverride"),
    )
    types = getattr(model.hf_text_config, "layer_types", None)
    if types is None or all(
        kind == "sliding_attention" for kind in types
    ):  # as EngineArgs.create_engine_config does
        cache.sliding_window = model.get_sliding_window()
    scheduler = SchedulerConfig(
        max_num_seqs=flags.get("maxNumSeqs", 16), max_num_batched_tokens=flags["maxNumBatchedTokens"], max_model_len=flags["maxModelLen"],
        is_encoder_decoder=False, enable_chunked_prefill=True, async_scheduling=flags.get("asyncScheduling", True),
    )  # fmt: skip
    config = VllmConfig(
        model_config=model,
        cache_config=cache,
        scheduler_config=scheduler,
        device_config=DeviceConfig(device="cpu"),
    )
    config.cache_config.block_size = flags.get("blockSize", 16)
    config.cache_config.kv_cache_layout = flags.get("layout", "LBNHC")
    config.scheduler_config.disable_hybrid_kv_cache_manager = not flags.get("hybridManager", True)
    config.scheduler_config.async_scheduling = flags.get("asyncScheduling", True)
    config.parallel_config = ParallelConfig()
    object.__setattr__(config.parallel_config, "tensor_parallel_size", flags.get("tp", 1))
    object.__setattr__(config.parallel_config, "pipeline_parallel_size", flags.get("pp", 1))
    object.__setattr__(config.parallel_config, "decode_context_parallel_size", flags.get("dcp", 1))
    return config


def _ranks(pp: int, rank: int, tp: int) -> None:
    """vLLM's process groups, made once for one process, then told that they are larger."""
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group(
            "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
        )
        parallel_state.init_distributed_environment(world_size=1, rank=0, backend="gloo")
        parallel_state.initialize_model_parallel()
        parallel_state._EP = parallel_state._EP or parallel_state._TP
    parallel_state._TP.world_size = tp
    stage = parallel_state._PP
    stage.world_size, stage.rank_in_group, stage.ranks, stage.rank = pp, rank, list(range(pp)), rank


def _model_specs(config: VllmConfig, pp: int, tp: int) -> list[dict[str, Any]]:
    """The KV specs of each pipeline stage, from the model class built on the meta device."""
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.platforms import current_platform

    stages = []
    for rank in range(pp):
        with set_current_vllm_config(config):
            _ranks(pp, rank, tp)
        config.compilation_config.static_forward_context.clear()
        with set_current_vllm_config(config), torch.device("meta"):
            initialize_model(config)
        if rank == 0 and config.model_config.is_hybrid:
            # What the CPU platform skips and a GPU does: raise the attention block until it holds a
            # state.
            from vllm.platforms.interface import Platform
            from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend

            with set_current_vllm_config(config):
                Platform._find_non_ssm_backends = classmethod(lambda *_: [TritonAttentionBackend])
                Platform._align_hybrid_block_size.__func__(
                    type(current_platform), config, TritonAttentionBackend
                )
        specs = {}
        with set_current_vllm_config(config):
            for name, layer in config.compilation_config.static_forward_context.items():
                if (
                    isinstance(layer, AttentionLayerBase)
                    and getattr(layer, "kv_sharing_target_layer_name", None) is None
                ):
                    spec = layer.get_kv_cache_spec(config)
                    if spec is not None:
                        specs[name] = _customized(spec)
        stages.append(specs)
    return stages


def _customized(spec: Any) -> Any:
    """The spec as a GPU backend packs it."""
    from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend

    if isinstance(spec, interface.AttentionSpec) and not isinstance(
        spec, interface.MLAAttentionSpec | interface.SlidingWindowMLASpec
    ):
        return TritonAttentionBackend.customize_spec(spec)
    return spec


def _hand_specs(stages: list[list[Any]]) -> list[dict[str, Any]]:
    dtypes = {
        name: getattr(torch, name)
        for name in ("bfloat16", "float16", "float32", "uint8", "float8_e4m3fn")
    }
    made = []
    for stage_number, stage in enumerate(stages):
        specs = {}
        for number, (kind, fields) in enumerate(stage):
            values = {
                key: dtypes.get(value, value) if isinstance(value, str) else value
                for key, value in fields.items()
            }
            if kind == "MambaSpec":
                values["shapes"] = tuple(map(tuple, values["shapes"]))
                values["dtypes"] = tuple(dtypes[name] for name in values["dtypes"])
            specs[f"{stage_number}.{number}"] = getattr(interface, kind)(**values)
        made.append(specs)
    return made


def answer(case: dict[str, Any], tiny: Path) -> dict[str, Any]:
    """What vLLM would allocate for this case."""
    flags = case["flags"]
    with tempfile.TemporaryDirectory() as folder:
        if "config" in case:
            (Path(folder) / "config.json").write_text(json.dumps(case["config"]))
            config = _vllm_config(Path(folder), flags)
            specs = _model_specs(config, flags.get("pp", 1), flags.get("tp", 1))
        else:
            config = _vllm_config(
                tiny,
                {**flags, "maxModelLen": min(flags["maxModelLen"], 8192), "kvCacheDtype": "auto"},
            )
            config.model_config.max_model_len = flags["maxModelLen"]
            specs = _hand_specs(case["specs"])
    if "mambaCacheMode" in flags:
        config.cache_config.mamba_cache_mode = flags["mambaCacheMode"]
    config.model_config.original_max_model_len = flags["maxModelLen"]
    out: dict[str, Any] = {
        "specs": "model" if "config" in case else "hand",
        "layers": sum(map(len, specs)),
    }
    try:
        made = sizing.get_kv_cache_configs(config, specs, list(case["availableBytes"]))
    except ValueError as error:
        return out | {"fits": False, "why": str(error)[:300]}
    tokens, concurrency = sizing.get_kv_cache_capacity(config, made[0])
    return out | {
        "fits": True, "blocks": made[0].num_blocks, "tokens": tokens, "concurrency": concurrency, "groups": len(made[0].kv_cache_groups),
        "blockSize": config.cache_config.block_size,
    }  # fmt: skip


def main() -> int:
    """Answer every case, each on its own line."""
    tiny = Path(sys.argv[1])
    _gpu_block_sizes()
    _same_states_everywhere()
    for case in json.load(sys.stdin):
        try:
            result = answer(case, tiny)
        except Exception as error:
            import traceback

            result = {
                "error": f"{type(error).__name__}: {error}"[:400],
                "trace": traceback.format_exc()[-1500:],
            }
        print("ORACLE " + json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
