"""A Hugging Face config.json as something that can be asked for a field under any of its names, and
says which one is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

from barostat.core.errors import InputError

# Where multimodal checkpoints keep their language model. Order matters: Qwen-Omni nests twice.
_NESTED = (
    "thinker_config",
    "talker_config",
    "text_config",
    "llm_config",
    "language_config",
    "language_model_config",
    "text_model_config",
)

_NEVER_ZERO = ("hidden_size", "num_hidden_layers", "vocab_size")
_MOST_LAYERS = 10_000
_LARGEST = 10**12
_LARGEST_FLOAT = 1e308

# The names under which architectures give the same thing. Source: vLLM 0.32.0,
# ModelArchConfigConvertorBase.
_ALIASES: dict[str, tuple[str, ...]] = {
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden_size": ("hidden_size", "n_embd", "d_model", "model_dim", "dim"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "num_key_value_heads": ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"),
    "intermediate_size": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "ffn_hidden_dim"),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "max_position_embeddings": (
        "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_sequence_length",
        "max_target_positions", "max_seq_length", "seq_len",
    ),
    "num_experts": ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"),
    "num_experts_per_tok": ("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk", "top_k_experts", "experts_per_token"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConfigJson:
    """The decoder's fields, and where they came from.

    `source`: the path or name a person knows the file by, used in every complaint.
    """

    text: Mapping[str, object]
    whole: Mapping[str, object]
    source: str

    def has(self, name: str) -> bool:
        """True if the field is there under any of its names and is not null."""
        return self._find(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        """The field as a whole number.

        Errors: InputError where it is missing and no default is given, or is no positive number.
        """
        found = self._find(name)
        if found is None:
            if default is None:
                raise InputError(
                    f"the field `{name}` is missing, and how much KV a token takes cannot "
                    "be told without it; "
                    "take the config.json of the model's repository as it is (a LoRA's or "
                    "a tokenizer's will not do)",
                    self.source,
                )
            return default
        if not _is_number(found) or not float(found).is_integer() or found < 0:
            raise InputError(f"`{name}` is {found!r}, a whole number was expected", self.source)
        if found == 0 and name in _NEVER_ZERO:
            raise InputError(f"`{name}` is 0, and no model is without", self.source)
        if found > (_MOST_LAYERS if name in ("num_hidden_layers", "decoder_layers") else _LARGEST):
            raise InputError(f"`{name}` is {found!r}: no model is that large", self.source)
        return int(found)

    def number(self, name: str, default: float) -> float:
        """The field as a number, or the default where it is missing or is none."""
        found = self._find(name)
        return float(found) if _is_number(found) else default

    def flag(self, name: str, default: bool = False) -> bool:
        """The field as a truth value."""
        found = self._find(name)
        return bool(found) if isinstance(found, bool | int) else default

    def string(self, name: str, default: str = "") -> str:
        """Return a text field of config.json; `default` if it is absent or not text."""
        found = self._find(name)
        return found if isinstance(found, str) else default

    def listed(self, name: str) -> list[object]:
        """The field as a list; empty if it is missing or is none."""
        found = self._find(name)
        return list(found) if isinstance(found, list | tuple) else []

    def mapping(self, name: str) -> Mapping[str, object]:
        """The field as a mapping; empty if it is missing or is none."""
        found = self._find(name)
        return found if isinstance(found, dict) else {}

    @property
    def has_experts(self) -> bool:
        """True for a mixture of experts."""
        return self.integer("num_experts", 0) > 1

    @property
    def architecture(self) -> str:
        """The class the checkpoint was saved from, or an empty text."""
        for config in (self.whole, self.text):
            names = config.get("architectures")
            if isinstance(names, list) and names and isinstance(names[0], str):
                return names[0]
        return ""

    @property
    def model_type(self) -> str:
        """The decoder's model_type, or the checkpoint's."""
        for config in (self.text, self.whole):
            found = config.get("model_type")
            if isinstance(found, str) and found:
                return found
        return ""

    @property
    def dtype(self) -> str:
        """Name of the checkpoint's dtype; float32 and nothing at all read as vLLM reads them with
        dtype=auto.
        """
        for config in (self.text, self.whole):
            found = config.get("dtype", config.get("torch_dtype"))
            if isinstance(found, str) and found:
                return found.removeprefix("torch.")
        return "bfloat16"

    def _find(self, name: str) -> object | None:
        for alias in _ALIASES.get(name, (name,)):
            if (found := self.text.get(alias)) is not None:
                return found
        return None


def open_config(config: object, source: str) -> ConfigJson:
    """The decoder's part of a decoded config.json.

    Errors: InputError where it is no config at all.
    """
    if not isinstance(config, dict) or not config:
        raise InputError("a Hugging Face config.json (a JSON object) was expected", source)
    text: Mapping[str, object] = config
    for name in _NESTED:
        inner = text.get(name)
        if isinstance(inner, dict) and (name != "talker_config") and len(inner) > 2:
            # Fields of the outer file serve where the inner one is silent, as transformers fills
            # them in; the tower's own never do.
            outer = {
                key: value
                for key, value in text.items()
                if key in ("torch_dtype", "dtype", "tie_word_embeddings", "quantization_config")
            }
            text = {**outer, **inner}
    return ConfigJson(text=text, whole=config, source=source)


def _is_number(value: object) -> TypeGuard[int | float]:
    """True for what a float can hold: JSON writes numbers that none can."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT
    )
