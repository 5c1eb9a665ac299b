"""The built-in catalogue of models: the numbers that size their memory, with where they were read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

# Names under which people and logs know the same weights.
_ALIASES = {
    "meta-llama/llama-3.1-8b-instruct": "meta-llama/Llama-3.1-8B-Instruct",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct",
    "llama-3.3-70b": "meta-llama/Llama-3.1-70B-Instruct",
    "meta-llama/llama-3.3-70b-instruct": "meta-llama/Llama-3.1-70B-Instruct",
    "openai/gpt-oss": "openai/gpt-oss-20b",
}


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model. `config`: the fields of its configuration that size memory. `source`: where they were read."""

    name: str
    source: str
    config: dict[str, object]


@cache
def _rows() -> dict[str, tuple[str, dict[str, object]]]:
    from barostat.catalog.models import deepseek, google, meta, moonshot, nemotron, nvidia, others, qwen, zai

    shelves = (deepseek, google, meta, moonshot, nemotron, nvidia, others, qwen, zai)
    return {name: row for shelf in shelves for name, row in shelf.MODELS.items()}


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
    if len(exact) != 1:
        return None
    source, config = _rows()[exact[0]]
    unpacked = _unpacked(config)
    assert isinstance(unpacked, dict)
    return CatalogueModel(exact[0], source, unpacked)


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
