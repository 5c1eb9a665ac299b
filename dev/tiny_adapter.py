"""LoRA adapters of the tiny models, without a training: small random weights for the projections of
queries and values.

Runs inside the vLLM environment (`safetensors` and `torch` come with vLLM).

    python dev/tiny_adapter.py MODEL_FOLDER TARGET NAME...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

RANK = 8


def main(model: Path, target: Path, names: list[str]) -> None:
    """Leave a folder of each name in target."""
    import torch
    from safetensors.torch import save_file

    config = json.loads((model / "config.json").read_text())
    hidden, head = config["hidden_size"], config["head_dim"]
    widths = {
        "q_proj": head * config["num_attention_heads"],
        "v_proj": head * config["num_key_value_heads"],
    }
    for seed, name in enumerate(names):
        dice = torch.Generator().manual_seed(seed)
        weights = {}
        for layer in range(config["num_hidden_layers"]):
            for module, width in widths.items():
                place = f"base_model.model.model.layers.{layer}.self_attn.{module}"
                weights[f"{place}.lora_A.weight"] = torch.rand(RANK, hidden, generator=dice) / 100
                weights[f"{place}.lora_B.weight"] = torch.rand(width, RANK, generator=dice) / 100
        folder = target / name
        folder.mkdir(parents=True, exist_ok=True)
        save_file(weights, folder / "adapter_model.safetensors")
        known = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "r": RANK,
            "lora_alpha": RANK,
            "target_modules": list(widths),
            "bias": "none",
        }
        (folder / "adapter_config.json").write_text(json.dumps(known))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
