"""The built-in catalogue of models: the numbers that size their memory, with where they were read.

The data are the `*.jsonl` beside this file: a model a line, with its name, its source and the
fields of its configuration; long lists are runs. They are written by `dev/catalogue.py`, but for
`siblings.jsonl`: other checkpoints of one of those shapes, with the fields in which their own
configuration differs (null: it has none), written by hand from their model cards. All are part of
the package, so they are read through the package's own loader at the first question: no path, no
environment, and nothing at import.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from re import IGNORECASE, compile, sub
from typing import Any

# Names under which people and logs know the same weights.
_ALIASES = {
    "meta-llama/llama-3.1-8b-instruct": "meta-llama/Llama-3.1-8B-Instruct",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct",
    "llama-3.3-70b": "meta-llama/Llama-3.1-70B-Instruct",
    "meta-llama/llama-3.3-70b-instruct": "meta-llama/Llama-3.1-70B-Instruct",
    "openai/gpt-oss": "openai/gpt-oss-20b",
}

# Successors of one and the same shape. Source: kaito-project/kaito's model table (64 layers, 5120,
# 24 heads, 4 KV heads of 256), and the start-up logs in bench/sizing_public.yaml, of which the
# pools agree to the token.
_SAME_SHAPE = {"qwen3.8-27b": "qwen3.6-27b"}

# What a checkpoint's name says of its weights' format and not of its shape.
_FORMAT = compile(
    r"([-_.](nvfp4|mxfp4|fp8|fp4|int4|int8|4bit|8bit|awq|gptq|autoround|bnb|quantized|dynamic|block|static|w\d+a\d+|gs?\d+|bf16|mixed))+$",
    IGNORECASE,
)


_TELLING_CHARS = 4  # from so many on the beginning of a name says which family is meant


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One model. `config`: the fields of its configuration that size memory. `source`: where they
    were read.
    """

    name: str
    source: str
    config: dict[str, object]


FILES = ("deepseek", "google", "meta", "moonshot", "nemotron", "nvidia", "others", "qwen", "zai")


SIBLINGS = "siblings"


@cache
def _rows() -> dict[str, tuple[str, dict[str, object]]]:
    found: dict[str, tuple[str, dict[str, object]]] = {}
    for name in FILES:
        found |= {row["name"]: (row["source"], row["config"]) for row in _lines(name)}
    for row in _lines(SIBLINGS):
        source, config = found[row["shape_of"]]
        own = row["config"]
        kept = {name: value for name, value in {**config, **own}.items() if value is not None}
        also = f" with {', '.join(own)} of its own" if own else ""
        found[row["name"]] = (f"{source}, the shape of {row['shape_of']}{also}", kept)
    return found


def _lines(name: str) -> list[dict[str, Any]]:
    import json
    from pkgutil import get_data

    return [json.loads(line) for line in (get_data(__name__, f"{name}.jsonl") or b"").splitlines()]


def model_names() -> tuple[str, ...]:
    """All names, in alphabetical order."""
    return tuple(sorted(_rows(), key=str.lower))


def shape_names() -> tuple[str, ...]:
    """The names whose configuration was read itself, in alphabetical order: one for each shape."""
    siblings = {row["name"] for row in _lines(SIBLINGS)}
    return tuple(name for name in model_names() if name not in siblings)


def find_model(name: str) -> CatalogueModel | None:
    """The model of this name; the organisation and the case do not matter where the rest is unique.
    None for no or several matches.
    """
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
    """Return the name without organisation, remarks in parentheses and weight format."""
    return str(
        _FORMAT.sub("", sub(r"\s*\(.*\)", "", name.strip().strip("/").lower()).split("/")[-1])
    )


def _sibling(wanted: str) -> CatalogueModel | None:
    """The model, by a checkpoint of the same name with weights of another format; None for none.
    That format is not taken over.

    Another's checkpoint in NVFP4 is taken for NVIDIA's own: two builds of one 27B load 20.57 and
    20.75 GiB.
    """
    bare = _bare(wanted)
    bare = _SAME_SHAPE.get(bare, _bare(_ALIASES.get(f"meta-llama/{bare}", bare)))
    alike = sorted((key for key in _rows() if _bare(key) == bare), key=lambda key: (len(key), key))
    if not bare or not alike:
        return None
    of_format = next(
        (key for key in alike if "nvfp4" in wanted.lower() and "nvfp4" in key.lower()), None
    )
    source, config = _rows()[of_format or alike[0]]
    unpacked = _unpacked(config)
    assert isinstance(unpacked, dict)
    if of_format is not None:
        return CatalogueModel(
            wanted.strip().strip("/"), f"{source}, the shape and format of {of_format}", unpacked
        )
    return CatalogueModel(
        wanted.strip().strip("/"), f"{source}, the shape of {alike[0]}", without_format(unpacked)
    )


def _bare(name: str) -> str:
    """As base_name, without what some checkpoints of one model have in their names and others
    not.
    """
    return base_name(name).removeprefix("meta-").removesuffix("-hf")


def without_format(config: dict[str, object]) -> dict[str, object]:
    """Return the architecture without its quantization settings."""
    kept = {
        key: value
        for key, value in config.items()
        if key not in ("quantization_config", "compression_config")
    }
    return {
        key: without_format(value) if isinstance(value, dict) else value
        for key, value in kept.items()
    }


def close_names(name: str, count: int = 4) -> tuple[str, ...]:
    """Names that look like this one, the closest first."""
    from difflib import get_close_matches

    by_tail = {key.split("/")[-1].lower(): key for key in model_names()}
    asked = name.split("/")[-1].lower()
    longer = sorted(
        tail for tail in by_tail if len(asked) >= _TELLING_CHARS and tail.startswith(asked)
    )
    found = dict.fromkeys([*longer, *get_close_matches(asked, by_tail, count, 0.4)])
    return tuple(by_tail[tail] for tail in list(found)[:count])


def _unpacked(value: object) -> object:
    """Lists written as runs, as lists again: `{"runs": "full*2,linear"}`; blocks as `{"block_runs":
    "8/5.25*4,-/1.0"}`: query heads per KV head and the feed-forward's multiple, `-` for none.
    """
    if isinstance(value, dict):
        for kind in ("runs", "number_runs", "block_runs"):
            if isinstance(text := value.get(kind), str):
                items: list[object] = []
                for run in text.split(","):
                    item, _, times = run.partition("*")
                    one = (
                        int(item)
                        if kind == "number_runs"
                        else _block(item)
                        if kind == "block_runs"
                        else item
                    )
                    items.extend([one] * (int(times) if times else 1))
                return items
        return {key: _unpacked(item) for key, item in value.items()}
    return value


def _block(text: str) -> object:
    grouped, multiple = text.split("/")
    attention = (
        {"no_op": True} if grouped == "-" else {"no_op": False, "n_heads_in_group": int(grouped)}
    )
    return {
        "attention": attention,
        "ffn": {"no_op": True}
        if multiple == "-"
        else {"no_op": False, "ffn_mult": float(multiple)},
    }
