"""Runs inside the environment of the real vLLM: the bytes of the places that its own LoRA wrappers
keep in its own model classes.

Reads a JSON list of cases on stdin: {"config", "loras", "rank", "sharded", "tp"}.
Writes `ORACLE {"bytes": n}` for each: of rank 0 of `tp`, on the meta device.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import vllm.distributed.parallel_state as parallel_state
from vllm.config import set_current_vllm_config
from vllm.engine.arg_utils import EngineArgs
from vllm.lora.model_manager import LoRAModelManager
from vllm.model_executor.model_loader.utils import initialize_model


def _kept(case: dict[str, Any], folder: Path) -> int:
    (folder / "config.json").write_text(json.dumps(case["config"]))
    config = EngineArgs(
        model=str(folder), tokenizer=str(folder), skip_tokenizer_init=True, load_format="dummy", enforce_eager=True, max_model_len=512,
        enable_lora=True, max_loras=case["loras"], max_lora_rank=case["rank"], fully_sharded_loras=case["sharded"],
    ).create_engine_config()  # fmt: skip
    with set_current_vllm_config(config):
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group(
                "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
            )
            parallel_state.init_distributed_environment(world_size=1, rank=0, backend="gloo")
            parallel_state.initialize_model_parallel()
        parallel_state._TP.world_size = case["tp"]
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("meta"):
            model = initialize_model(vllm_config=config)
        manager = LoRAModelManager(
            model, 8, 512, 32768, config.lora_config, torch.device("meta"), config
        )
    total = 0
    for layer in manager.modules.values():
        for name, held in vars(layer).items():
            if name.endswith("_stacked"):  # not the view of one that the embedding keeps beside it
                total += sum(
                    one.numel() * one.element_size()
                    for one in (held if isinstance(held, tuple | list) else [held])
                )
    return total


def main() -> None:
    for case in json.load(sys.stdin):
        with tempfile.TemporaryDirectory() as folder:
            print("ORACLE", json.dumps({"bytes": _kept(case, Path(folder))}), flush=True)


main()
