"""The built-in catalogue of models: the numbers that size their memory, with where they were read.

The data are the `*.jsonl` beside this file: a model a line, with its name, its source and the fields of its configuration; long lists are
runs. They are written by `dev/catalogue.py` and are part of the package, so they are read through the package's own loader at the first
question: no path, no environment, and nothing at import.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from re import IGNORECASE, compile, sub

# Names under which people and logs know the same weights.
_ALIASES = {
    "meta-llama/llama-3.1-8b-instruct": "meta-llama/Llama-3.1-8B-Instruct",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct",
    "llama-3.3-70b": "meta-llama/Llama-3.1-70B-Instruct",
    "meta-llama/llama-3.3-70b-instruct": "meta-llama/Llama-3.1-70B-Instruct",
    "openai/gpt-oss": "openai/gpt-oss-20b",
}

# Successors of one and the same shape. Source: kaito-project/kaito's model table (64 layers, 5120, 24 heads, 4 KV heads of 256), and the
# start-up logs in bench/sizing_public.yaml, of which the pools agree to the token.
_SAME_SHAPE = {"qwen3.8-27b": "qwen3.6-27b"}

# What a checkpoint's name says of its weights' format and not of its shape.
_FORMAT = compile(
    r"([-_.](nvfp4|mxfp4|fp8|fp4|int4|int8|4bit|8bit|awq|gptq|autoround|bnb|quantized|dynamic|block|static|w\d+a\d+|gs?\d+|bf16|mixed))+$",
    IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model. `config`: the fields of its configuration that size memory. `source`: where they were read."""

    name: str
    source: str
    config: dict[str, object]


FILES = ("deepseek", "google", "meta", "moonshot", "nemotron", "nvidia", "others", "qwen", "zai")


@cache
def _rows() -> dict[str, tuple[str, dict[str, object]]]:
    import json
    from pkgutil import get_data

    found: dict[str, tuple[str, dict[str, object]]] = {}
    for name in FILES:
        for line in (get_data(__name__, f"{name}.jsonl") or b"").splitlines():
            row = json.loads(line)
            found[row["name"]] = (row["source"], row["config"])
    return found


def model_names() -> tuple[str, ...]:
    """All names, in alphabetical order."""
    return tuple(sorted(_rows(), key=str.lower))


def find_model(name: str) -> CatalogueModel | None:
    """The model of this name; the organisation and the case do not matter where the rest is unique. None for no or several matches."""
    wanted = name.strip().strip("/").lower()
    wanted = _ALIASES.get(wanted, wanted).lower()
    exact = [key for key in _rows() if key.lower() == wanted]
    if not exact:
        exact = [key for key in _rows() if key.lower().split("/")[-1] == wanted.split("/")[-1]]
    if len(exact) > 1:
        return None
    if not exact:
        return _sibling(name)
    source, config = _rows()[exact[0]]
    unpacked = _unpacked(config)
    assert isinstance(unpacked, dict)
    return CatalogueModel(exact[0], source, unpacked)


def base_name(name: str) -> str:
    """The name without organisation, remarks in parentheses and what it says of the weights' format."""
    return str(_FORMAT.sub("", sub(r"\s*\(.*\)", "", name.strip().strip("/").lower()).split("/")[-1]))


def _sibling(wanted: str) -> CatalogueModel | None:
    """The model, by a checkpoint of the same name with weights of another format; None for none. That format is not taken over."""
    base = base_name(wanted)
    base = _SAME_SHAPE.get(base, base_name(_ALIASES.get(f"meta-llama/{base}", base)))
    alike = sorted((key for key in _rows() if base_name(key) == base), key=lambda key: (len(key), key))
    if not base or not alike:
        return None
    source, config = _rows()[alike[0]]
    unpacked = _unpacked(config)
    assert isinstance(unpacked, dict)
    return CatalogueModel(wanted.strip().strip("/"), f"{source}, the shape of {alike[0]}", without_format(unpacked))


def without_format(config: dict[str, object]) -> dict[str, object]:
    """The shape alone: what is said of quantised weights is left out."""
    kept = {key: value for key, value in config.items() if key not in ("quantization_config", "compression_config")}
    return {key: without_format(value) if isinstance(value, dict) else value for key, value in kept.items()}


def close_names(name: str, count: int = 4) -> tuple[str, ...]:
    """Names that look like this one, the closest first."""
    from difflib import get_close_matches

    by_tail = {key.split("/")[-1].lower(): key for key in model_names()}
    return tuple(by_tail[tail] for tail in get_close_matches(name.split("/")[-1].lower(), by_tail, count, 0.4))


def _unpacked(value: object) -> object:
    """Lists written as runs, as lists again: `{"runs": "full*2,linear"}`; blocks as `{"block_runs": "8/5.25*4,-/1.0"}`: query heads
    per KV head and the feed-forward's multiple, `-` for none."""
    if isinstance(value, dict):
        for kind in ("runs", "number_runs", "block_runs"):
            if isinstance(text := value.get(kind), str):
                items: list[object] = []
                for run in text.split(","):
                    item, _, times = run.partition("*")
                    one = int(item) if kind == "number_runs" else _block(item) if kind == "block_runs" else item
                    items.extend([one] * (int(times) if times else 1))
                return items
        return {key: _unpacked(item) for key, item in value.items()}
    return value


def _block(text: str) -> object:
    grouped, multiple = text.split("/")
    attention = {"no_op": True} if grouped == "-" else {"no_op": False, "n_heads_in_group": int(grouped)}
    return {"attention": attention, "ffn": {"no_op": True} if multiple == "-" else {"no_op": False, "ffn_mult": float(multiple)}}
