"""How many bytes a stored weight takes, by component, from a checkpoint's quantization_config or
the --quantization flag.

    nvfp4   | 4-bit number | 1 scale byte per 16 numbers |            awq, gptq  | 4-bit number | 2-byte scale, 4-bit zero per group |
    mxfp4   | 4-bit number | 1 scale byte per 32 numbers |            fp8 block  | 1 byte | 4-byte scale per 128 x 128 |

Source: the formats' own layouts; vLLM 0.32.0, the create_weights of each method.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from barostat.kv.dtypes import item_bytes

# What a component's modules are called in checkpoints; a pattern that matches one of these exempts
# the component.
_MODULE_NAMES: dict[str, tuple[str, ...]] = {
    "attention": (
        "model.layers.9.self_attn.q_proj",
        "model.layers.9.self_attn.o_proj",
        "self_attn",
    ),
    "mlp": ("model.layers.9.mlp.gate_proj", "model.layers.9.mlp.down_proj"),
    "experts": (
        "model.layers.9.mlp.experts.5.gate_proj",
        "model.layers.9.block_sparse_moe.experts.5.w1",
    ),
    "shared experts": (
        "model.layers.9.mlp.shared_experts.gate_proj",
        "model.layers.9.mlp.shared_expert.gate_proj",
        "shared_experts",
        "shared_expert",
    ),
    "state": (
        "model.layers.9.linear_attn.in_proj_qkvz",
        "model.layers.9.mixer.in_proj",
        "linear_attn",
        "linear_attn.in_proj_qkv",
    ),
    "head": ("lm_head",),
    "tower": (
        "visual.blocks.3.attn.qkv",
        "vision_tower",
        "model.visual.blocks.3",
        "vision_model",
        "multi_modal_projector",
        "visual",
    ),
}
_ALWAYS_PLAIN = frozenset(("embedding", "router", "norm", "compressor"))


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """Bytes per stored parameter.

    `quantized_bytes`: of a quantised one, scales included. `plain`: components left in the model's
    dtype. `name`: as a person would say it. `uncertain_ratio`: how far the bytes may be off where
    the config leaves something open. `open`: those of `plain` that other checkpoints of this format
    quantise, where only a word names it.
    """

    name: str
    plain_bytes: int
    quantized_bytes: float
    plain: frozenset[str] = field(default_factory=frozenset)
    uncertain_ratio: float = 0.01
    by_component: Mapping[str, float] = field(default_factory=dict)
    open: frozenset[str] = frozenset()

    @property
    def input_bytes(self) -> float:
        """Bytes of one number of the inputs that are quantised for the kernels of these weights; 0
        where they stay as they are.
        """
        return self.quantized_bytes if re.match(r"fp8|8-bit|nvfp4", self.name) else 0.0

    @property
    def smallest(self) -> WeightFormat:
        """The same with everything quantised that may be."""
        return replace(self, plain=self.plain - self.open, open=frozenset())

    def bytes_of(self, component: str) -> float:
        """Bytes of one parameter of this component."""
        if component in self.by_component:
            return self.by_component[component]
        return (
            self.plain_bytes
            if component in self.plain or component in _ALWAYS_PLAIN
            else self.quantized_bytes
        )


def weight_format(
    config: Mapping[str, object],
    text: Mapping[str, object],
    flag: str | None,
    dtype: str,
    name: str = "",
) -> WeightFormat:
    """The format of this checkpoint's weights under these flags.

    `flag`: --quantization, or None. `name`: the model's, whose suffix (-FP8, -AWQ, -NVFP4) decides
    where neither config nor flag does. Where the flag names another width than the config
    describes, the config is a sibling's and the flag is right.
    """
    plain_bytes = item_bytes(dtype)
    found = (
        config.get("quantization_config")
        or text.get("quantization_config")
        or config.get("compression_config")
    )
    by_flag, by_name = (
        _of_words(flag or "", "the flag", plain_bytes),
        _of_words(name.split("/")[-1], "the model's name", plain_bytes),
    )
    if isinstance(found, dict) and found:
        own = _of_checkpoint(found, plain_bytes, config)
        claimed = by_flag or by_name
        sizes = set(own.by_component.values()) if own.name.startswith("mixed") else set()
        other_width = (
            claimed is not None
            and claimed.quantized_bytes not in sizes
            and not 0.6 < claimed.quantized_bytes / own.quantized_bytes < 1.6
        )
        return claimed if claimed is not None and other_width else own
    if by_flag is None and re.search(r"compress|quant|fp_quant|modelopt", flag or ""):
        return by_name or replace(
            _of_words("w8a8", "a flag that does not say the width", plain_bytes)
            or _unquantized(plain_bytes),
            uncertain_ratio=0.5,
        )
    return by_flag or by_name or _unquantized(plain_bytes)


def _unquantized(plain_bytes: int) -> WeightFormat:
    return WeightFormat("not quantised", plain_bytes, plain_bytes)


# Words of flags and of model names, bytes per parameter with scales, components left alone, and how
# sure.
_WORDS_OF_FORMATS: tuple[tuple[str, str, float, tuple[str, ...], float], ...] = (
    (
        r"nvfp4|modelopt_fp4|(?<![a-z])fp4",
        "nvfp4",
        0.5 + 1 / 16,
        ("head", "tower", "attention", "state"),
        0.08,
    ),
    (r"mxfp4", "mxfp4", 0.5 + 1 / 32, ("head", "tower", "attention", "state"), 0.08),
    (
        r"w4a16|awq|gptq|auto-?round|int4|4-?bit(?!.*bnb)(?!.*bitsandbytes)|(?<![a-z])w4",
        "4-bit, groups of 128",
        0.5 + 2.5 / 128,
        ("head", "tower"),
        0.08,
    ),
    (r"bitsandbytes|bnb|nf4", "bitsandbytes 4-bit", 0.5 + 4.25 / 64 / 2, ("head", "tower"), 0.08),
    (r"w8a8|int8|fp8|fbgemm|8-?bit(?!s)", "8-bit", 1.0, ("head", "tower"), 0.03),
)


def _of_words(words: str, where: str, plain_bytes: int) -> WeightFormat | None:
    for pattern, name, size, plain, uncertain in _WORDS_OF_FORMATS:
        if re.search(pattern, words.lower()):
            # ModelOpt quantises attention unless it is told not to: many makers of NVFP4
            # checkpoints tell it, not all.
            left_open = frozenset(("attention",)) if name == "nvfp4" else frozenset[str]()
            return WeightFormat(
                f"{name} (from {where})",
                plain_bytes,
                size,
                frozenset(plain),
                uncertain,
                open=left_open,
            )
    return None


def _of_checkpoint(
    found: Mapping[str, object], plain_bytes: int, config: Mapping[str, object]
) -> WeightFormat:
    method = str(found.get("quant_method", "")).lower()
    algorithm = str(found.get("quant_algo", "")).lower()
    ignored = _ignored(found)
    plain = frozenset(component for component in _MODULE_NAMES if _exempt(component, ignored))
    if found.get("lm_head") is not True and not any(
        "lm_head" in str(group) for group in _targets(found)
    ):
        plain |= {"head"}
    size, name, uncertain = _size_and_name(found, method, algorithm)
    if method == "mxfp4" or "mxfp4" in algorithm:
        plain |= {"attention", "head", "tower", "state", "mlp"}
    if method in ("awq", "gptq", "auto-round", "auto_round", "fp8", "bitsandbytes", "quark"):
        plain |= {"tower"}
    if config.get("expert_dtype") == "fp4" and "fp4" not in name:
        return WeightFormat(
            f"{name}, experts mxfp4",
            plain_bytes,
            size,
            plain,
            uncertain,
            by_component={"experts": 0.5 + 1 / 32},
        )
    mixed = _by_targets(found)
    if (
        len(set(mixed.values())) > 1
    ):  # every module that is quantised is named: what is not named stays as it is
        return WeightFormat(
            f"mixed: {name} and others", plain_bytes, plain_bytes, plain, 0.08, by_component=mixed
        )
    return WeightFormat(name, plain_bytes, size, plain, uncertain)


def _by_targets(found: Mapping[str, object]) -> dict[str, float]:
    """Bytes by component where groups of modules are stored differently, as their targets name
    them.
    """
    groups = found.get("config_groups")
    sizes: dict[str, float] = {}
    for group in groups.values() if isinstance(groups, dict) and len(groups) > 1 else ():
        weights, targets = group.get("weights"), group.get("targets")
        if not isinstance(weights, dict) or not isinstance(targets, list):
            continue
        bits = _number(weights, "num_bits") or 8
        size = 0.5 + 1 / 16 if bits == 4 and weights.get("type") == "float" else bits / 8
        for component, words in (*_WORDS.items(), ("mlp", ("mlp.",))):
            if any(word in str(target) for word in words for target in targets):
                sizes.setdefault(component, size)
    return sizes


def _size_and_name(
    found: Mapping[str, object], method: str, algorithm: str
) -> tuple[float, str, float]:
    """Bytes per quantised parameter, what to call it, and how sure."""
    bits = _number(found, "bits") or _number(found, "w_bit")
    group = _number(found, "group_size") or 128
    weights = _weights_of_group(found)
    if (own := _number(weights, "num_bits")) is not None:
        bits, group = own, _number(weights, "group_size") or group
        if own == 4 and "fp4" in str(found.get("format", "")).lower() + str(
            weights.get("type", "")
        ) + "fp4" * (weights.get("type") == "float"):
            mx = "mxfp4" in str(found.get("format", "")).lower()
            return (0.5 + 1 / 32, "mxfp4", 0.02) if mx else (0.5 + 1 / 16, "nvfp4", 0.02)
    if "nvfp4" in algorithm or "nvfp4" in method or method == "modelopt_fp4":
        return 0.5 + 1 / 16, "nvfp4", 0.02
    if method == "mxfp4" or "mxfp4" in algorithm:
        return 0.5 + 1 / 32, "mxfp4", 0.02
    if method in ("fp8", "fbgemm_fp8") or "fp8" in algorithm or (bits == 8):
        block = found.get("weight_block_size")
        return (
            (1 + 4 / (128 * 128) if isinstance(block, list) else 1.0),
            ("fp8" if "fp8" in method + algorithm else "8-bit"),
            0.01,
        )
    if method == "bitsandbytes":
        eight = found.get("load_in_8bit") is True
        return (
            (1.0, "bitsandbytes 8-bit", 0.03)
            if eight
            else (0.5 + 4.25 / 64 / 2, "bitsandbytes 4-bit", 0.08)
        )
    if bits:
        return (
            bits / 8 + (2 + bits / 8) / max(32, group),
            f"{int(bits)}-bit, groups of {int(group)}",
            0.03,
        )
    return 1.0, f"{method or algorithm or 'quantised'} (read as 8-bit)", 0.3


def _number(found: Mapping[str, object], name: str) -> float | None:
    value = found.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _weights_of_group(found: Mapping[str, object]) -> Mapping[str, object]:
    groups = found.get("config_groups")
    if isinstance(groups, dict):
        for group in groups.values():
            if isinstance(group, dict) and isinstance(group.get("weights"), dict):
                weights: Mapping[str, object] = group["weights"]
                return weights
    return {}


def _targets(found: Mapping[str, object]) -> list[str]:
    groups = found.get("config_groups")
    named: list[str] = []
    if isinstance(groups, dict):
        for group in groups.values():
            if isinstance(group, dict) and isinstance(group.get("targets"), list):
                named.extend(str(item) for item in group["targets"])
    return named


def _ignored(found: Mapping[str, object]) -> list[str]:
    names: list[str] = []
    for key in ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules"):
        value = found.get(key)
        if isinstance(value, list):
            names.extend(str(item) for item in value)
    return names


def _exempt(component: str, ignored: list[str]) -> bool:
    """True if the list of modules left alone names this component as a kind, not just single layers
    of it.
    """
    for item in ignored:
        if item.startswith("re:"):
            try:
                expression = re.compile(item[3:])
            except re.error:
                continue
            if any(expression.match(name) for name in _MODULE_NAMES[component]):
                return True
            continue
        if _SMALL.search(item):
            continue
        words = item.replace("*", "").strip(".")
        general = "*" in item or not re.search(r"\.\d+\.", item)
        if general and words and any(part in words for part in _WORDS[component]):
            return True
    return False


# Modules that a list leaves alone and that say nothing of the large ones beside them: norms, gates,
# what a state layer decays by.
_SMALL = re.compile(
    r"(norm|bias|shared_expert_gate|conv1d|A_log|in_proj_(a|b|ba)|indexers?_proj|weights_proj)$"
)
_WORDS: dict[str, tuple[str, ...]] = {
    "attention": ("self_attn", "attention", "attn.q", "q_proj", "o_proj"),
    "mlp": ("mlp.gate_proj", "mlp.down_proj", "mlp.up_proj"),
    "experts": ("mlp.experts", "block_sparse_moe.experts", "mixer.experts"),
    "shared experts": ("shared_expert", "shared_mlp"),
    "state": ("linear_attn", "mixer.in_proj", "mixer.out_proj", "mamba", "conv1d"),
    "head": ("lm_head",),
    "tower": ("visual", "vision", "multi_modal", "vpm"),
}
