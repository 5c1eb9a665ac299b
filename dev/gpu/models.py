"""What is served: the shapes of the built-in catalogue, without weights, with the tiny model's
tokenizer grown to their vocabulary.

The loads send token ids, so no text is ever read; that every id has a text lets the engine write
its answers.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from dev.engine import SHAPES
from dev.gpu.vllm import Vllm
from dev.setup_vllm import HERE, cache_dir
from dev.tiny_model import CONFIG

from barostat.catalog.models import find_model


def config_of(model: str) -> dict[str, Any]:
    """The configuration of a model of the catalogue, or of a shape of dev/engine.py. Errors:
    KeyError for any other name.
    """
    if model in SHAPES:
        return {**CONFIG, **SHAPES[model]}
    listed = find_model(model)
    if listed is None:
        raise KeyError(f"{model} is not in the catalogue")
    config: dict[str, Any] = dict(listed.config)
    return (
        config
        if config.get("torch_dtype") or config.get("dtype")
        else {**config, "torch_dtype": "bfloat16"}
    )


def served_config(config: dict[str, Any]) -> dict[str, Any]:
    """What vLLM is given: without the scaling of positions, of which a part is in the catalogue
    only; the length is the stated one.
    """
    kept = {name: value for name, value in config.items() if name != "rope_scaling"}
    return {
        name: served_config(value) if isinstance(value, dict) else value
        for name, value in kept.items()
    }


def stated_name(model: str) -> str:
    """As rows name it."""
    return f"barostat/shape-{model}" if model in SHAPES else model


def file_name(model: str) -> str:
    """Its configuration's file beside the rows, as bench/pace.py looks for it."""
    return stated_name(model).replace("/", "__") + ".json"


def vocabulary(config: dict[str, Any]) -> int:
    """Tokens of the vocabulary. Errors: KeyError."""
    text = config.get("text_config") or config.get("llm_config") or config
    return int(text.get("vocab_size") or config["vocab_size"])


def folder_of(model: str, vllm: Vllm) -> Path:
    """The folder to serve, in the cache: its path stays the same, by which vLLM knows what it has
    compiled.
    """
    room = cache_dir() / "gpu"
    config = served_config(config_of(model))
    written = json.dumps(config, indent=1)
    key = hashlib.sha256(
        (written + vllm.version + Path(__file__).read_text()).encode()
    ).hexdigest()[:8]
    folder = room / "models" / f"{file_name(model).removesuffix('.json')}-{key}"
    if (folder / "config.json").exists():
        return folder
    tokenizer = _tokenizer(room, vllm)
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for file in tokenizer.iterdir():
        if file.name not in ("config.json", "generation_config.json"):
            shutil.copy(file, part / file.name)
    (part / "tokenizer.json").write_text(
        grown((tokenizer / "tokenizer.json").read_text(), vocabulary(config))
    )
    (part / "config.json").write_text(written)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return folder


def grown(tokenizer: str, tokens: int) -> str:
    """The tokenizer's file with so many tokens: those beyond its own are never made of a text."""
    found = json.loads(tokenizer)
    vocab: dict[str, int] = found["model"]["vocab"]
    known = {*vocab.values(), *(added["id"] for added in found.get("added_tokens", ()))}
    vocab.update({f"t{number}x": number for number in range(tokens) if number not in known})
    return json.dumps(found)


def _tokenizer(room: Path, vllm: Vllm) -> Path:
    """The tiny model's, made by that vLLM's own Python. Errors: RuntimeError."""
    source = HERE / "tiny_model.py"
    key = hashlib.sha256(source.read_bytes() + vllm.version.encode()).hexdigest()[:8]
    folder = room / f"tokenizer-{key}"
    if (folder / "tokenizer.json").exists():
        return folder
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    done = subprocess.run(
        [vllm.python, source, part],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode or not (part / "tokenizer.json").exists():
        raise RuntimeError(f"no tokenizer could be made: {done.stderr.strip()[-500:]}")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return folder
