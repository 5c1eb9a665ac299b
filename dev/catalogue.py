"""Writes the built-in catalogue: numbers read off public model configurations and card data sheets,
as our own data.

    python dev/catalogue.py ../shared

Reads DIR/models/*.json and DIR/gpus.csv; writes src/barostat/catalog/models/*.jsonl (a model a
line: only the fields that size memory, lists of layers as runs) and prints the card table. The
files read are not part of this repository.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src" / "barostat" / "catalog"

# What the planner reads. Everything else of a config.json (tokens, RoPE details, generation
# settings) is left out.
KEPT = frozenset(
    """
    architectures model_type torch_dtype dtype num_hidden_layers n_layer n_layers num_layers hidden_size n_embd d_model
    num_attention_heads n_head
    n_heads num_heads num_key_value_heads n_head_kv num_kv_heads multi_query_group_num num_attention_groups head_dim attention_head_dim
    intermediate_size ffn_hidden_size n_inner ffn_dim vocab_size padded_vocab_size max_position_embeddings n_positions max_seq_len
    seq_length
    tie_word_embeddings sliding_window use_sliding_window max_window_layers sliding_window_size sliding_window_pattern layer_types
    attention_chunk_size no_rope_layers no_rope_layer_interval num_kv_shared_layers num_global_key_value_heads global_head_dim
    final_logit_softcapping
    kv_lora_rank q_lora_rank qk_rope_head_dim qk_nope_head_dim v_head_dim index_topk index_head_dim index_n_heads index_topk_freq
    index_topk_pattern index_skip_topk_offset compress_ratios linear_num_key_heads linear_num_value_heads linear_key_head_dim
    linear_value_head_dim linear_conv_kernel_dim full_attention_interval mamba_ssm_dtype mamba_ssm_cache_dtype mamba_num_heads
    mamba_head_dim n_groups
    ssm_state_size conv_kernel hybrid_override_pattern layers_block_type mamba_expand mamba_d_state mamba_d_conv mamba_d_ssm mamba_n_heads
    mamba_d_head mamba_n_groups routed_expert_hidden_size expert_dtype expand
    attn_layer_period attn_layer_offset expert_layer_period expert_layer_offset linear_attn_config
    hybrid_layer_pattern swa_num_key_value_heads swa_num_attention_heads swa_head_dim swa_v_head_dim attn_type_list layer_group_size
    num_experts num_local_experts n_routed_experts moe_num_experts num_experts_per_tok num_experts_per_token moe_top_k moe_topk
    top_k_experts moe_intermediate_size
    expert_dim moe_latent_size shared_expert_intermediate_size shared_intermediate_size moe_shared_expert_intermediate_size
    n_shared_experts num_shared_experts
    share_expert_dim first_k_dense_replace moe_layer_freq moe_layers_enum mlp_layer_types decoder_sparse_step mlp_only_layers
    interleave_moe_layer_step intermediate_size_mlp
    mlp_hidden_act hidden_act hidden_activation enable_moe_block hidden_size_per_layer_input vocab_size_per_layer_input
    sparse_attention_config
    attention_other_setting attention_k_eq_v num_nextn_predict_layers mtp_num_hidden_layers num_mtp_modules n_mtp_layers block_configs
    num_key_value_heads_per_layer o_lora_rank o_groups use_double_wide_mlp factor rope_type
    original_max_position_embeddings
    quantization_config rope_scaling text_config llm_config language_config vision_config attn_config kv_n_heads cross_attention_layers
    depth out_hidden_size patch_size num_position_embeddings num_heads vt_hidden_size vt_intermediate_size vt_num_hidden_layers image_size
    """.split()  # noqa: SIM905
)
KEPT_OF_QUANTIZATION = ("quant_method", "quant_algo", "bits", "w_bit", "group_size", "weight_block_size", "format",
"modules_to_not_convert", "ignore",
                        "ignored_layers", "exclude_modules", "config_groups", "load_in_4bit", "load_in_8bit", "kv_cache_scheme",
                        "lm_head", "expert_dtype")  # fmt: skip


def slim(config: dict[str, Any]) -> dict[str, Any]:
    """The fields that size memory."""
    kept: dict[str, Any] = {}
    for name, value in config.items():
        if name not in KEPT or value is None:
            continue
        if name == "quantization_config" and isinstance(value, dict):
            kept[name] = slim_quantization(value)
        elif name in (
            "linear_attn_config",
            "sparse_attention_config",
            "attention_other_setting",
            "attn_config",
        ):
            kept[name] = value
        elif name == "block_configs":
            kept[name] = {"block_runs": runs([block_as_text(block) for block in value])}
        elif isinstance(value, dict):
            kept[name] = slim(value)
        else:
            kept[name] = value
    return kept


def block_as_text(block: dict[str, Any]) -> str:
    """A block of a searched architecture (`block_configs`): query heads per KV head, and the
    feed-forward's multiple; - for none.
    """
    attention, forward = block["attention"], block["ffn"]
    grouped = "-" if attention.get("no_op") else str(attention["n_heads_in_group"])
    return grouped + "/" + ("-" if forward.get("no_op") else str(forward["ffn_mult"]))


def runs(items: list[Any]) -> str:
    """`full*2,linear` for `["full", "full", "linear"]`."""
    found: list[list[Any]] = []
    for item in items:
        if found and found[-1][0] == item:
            found[-1][1] += 1
        else:
            found.append([item, 1])
    return ",".join(str(item) if times == 1 else f"{item}*{times}" for item, times in found)


def slim_quantization(config: dict[str, Any]) -> dict[str, Any]:
    """How weights are stored: method, bits, groups, and which modules are left alone, each kind
    once.
    """
    kept = {name: config[name] for name in KEPT_OF_QUANTIZATION if config.get(name) is not None}
    for name in ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules"):
        if isinstance(kept.get(name), list):
            kept[name] = sorted({re.sub(r"\.\d+\.", ".*.", str(item)) for item in kept[name]})
    groups = kept.get("config_groups")
    if isinstance(groups, dict):
        kept["config_groups"] = {
            key: {"weights": {k: v for k, v in (group.get("weights") or {}).items() if k in ("num_bits", "type", "strategy", "group_size")},
                  "format": group.get("format"), "targets": sorted({re.sub(r"\d+", "N", str(t)) for t in group.get("targets") or []})[:8]}
            for key, group in groups.items() if isinstance(group, dict)
        }  # fmt: skip
    return kept


def sources(readme: str) -> dict[str, str]:
    """Where each configuration was read, by file name: the last column of the list's table."""
    found = {}
    for line in readme.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 10 and cells[1].endswith(".json"):
            found[cells[1]] = cells[10].split(";")[0].split(" ")[0]
    return found


def packed(value: Any) -> Any:
    """Long lists as runs: `["full", "full", "linear"]` is `"full*2,linear"`; everything else as it
    is.
    """
    if isinstance(value, dict):
        return {key: packed(item) for key, item in value.items()}
    if (
        isinstance(value, list)
        and len(value) > 8
        and all(isinstance(item, str | int) and " " not in str(item) for item in value)
    ):
        text = runs(value)
        if text.count(",") + 1 < len(value):
            return {"number_runs" if all(isinstance(item, int) for item in value) else "runs": text}
    return value


SHELVES = {
    "qwen": ("Qwen",), "meta": ("meta-llama", "RedHatAI", "codellama"), "google": ("google",), "nvidia": ("nvidia",), "nemotron": (),
    "deepseek": ("deepseek-ai", "sgl-project"), "moonshot": ("moonshotai",), "zai": ("zai-org",), "others": (),
}  # fmt: skip
"""File -> whose models are in it; `others` has the rest, and what NVIDIA made for itself stands
apart from what it converted.
"""


def models(folder: Path) -> None:
    """Write the model catalogue."""
    where = sources((folder / "README.md").read_text())
    shelves: dict[str, list[str]] = {name: [] for name in SHELVES}
    for path in sorted(folder.glob("*.json")):
        name = path.stem.replace("__", "/", 1)
        org = name.split("/")[0]
        shelf = next((shelf for shelf, orgs in SHELVES.items() if org in orgs), "others")
        shelf = "nemotron" if shelf == "nvidia" and "Nemotron" in name else shelf
        row = {
            "name": name,
            "source": where.get(path.name, ""),
            "config": packed(slim(json.loads(path.read_text()))),
        }
        shelves[shelf].append(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    for shelf, rows in shelves.items():
        (TARGET / "models" / f"{shelf}.jsonl").write_text("".join(rows))
    print(sum(map(len, shelves.values())), "models")


def span(text: str) -> tuple[float, float] | None:
    """Lowest and highest of `79.10-79.25`, `~22.06`, `63.98 per GCD`."""
    numbers = [float(item) for item in re.findall(r"\d+(?:\.\d+)?", text)]
    return (min(numbers), max(numbers)) if numbers else None


def cards(path: Path) -> None:
    """Print the rows of the card table, to be put into catalog/cards.py by hand (aliases and
    vendors are ours).
    """

    def number(text: str) -> float | None:
        return float(text) if text else None

    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            smi = int(row["smi_total_mib"]) if row["smi_total_mib"] else None
            memory = f"{number(row['mem_nominal_gb'])}, {smi}, {span(row['torch_total_gib'])}"
            print(f"    _row({row['name']!r}, {row['vendor']!r}, {row['compute_cap']!r}, {memory}, "
                  f" {number(row['mem_bw_gb_s'])}, {number(row['bf16_dense_tflops'])}, {number(row['fp8_dense_tflops'])}),")  # fmt: skip


if __name__ == "__main__":
    shared = Path(sys.argv[1])
    models(shared / "models")
    cards(shared / "gpus.csv")
