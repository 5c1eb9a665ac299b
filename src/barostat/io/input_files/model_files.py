"""A model named by a person -> its configuration: a file, a folder with config.json, or the
built-in catalogue; and its weights' size where files are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barostat.catalog.models import close_names, find_model
from barostat.core.errors import InputError
from barostat.io.input_files.json_text import why_no_json

_LARGEST_BYTES = 64_000_000
_LARGEST_CHECKPOINT_BYTES = 1 << 50


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A configuration. `weights_bytes`: of the whole checkpoint as its files say, None if there
    are none. `source`: for a person.
    """

    name: str
    config: dict[str, Any]
    source: str
    weights_bytes: int | None = None


def open_model(named: str) -> FoundModel:
    """The configuration of a path or a name.

    Errors: InputError that says where was looked and which names are close.
    """
    path = Path(named)
    if path.is_file():
        return FoundModel(_name_of(path), _decoded(path), str(path))
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError("the folder holds no config.json", named)
        return FoundModel(
            path.resolve().name,
            _decoded(path / "config.json"),
            str(path / "config.json"),
            _weights_in(path),
        )
    found = find_model(named)
    if found is not None:
        return FoundModel(found.name, found.config, f"built-in catalogue ({found.source})")
    close = close_names(named)
    hint = f"close names: {', '.join(close)}; or " if close else ""
    raise InputError(
        f"is neither a file nor in the built-in catalogue; {hint}give the model's "
        "config.json with --model-config FILE",
        named,
    )


def _name_of(path: Path) -> str:
    return (
        path.resolve().parent.name
        if path.name == "config.json"
        else path.stem.replace("__", "/", 1)
    )


def _decoded(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise InputError("is larger than 64 MB: not a config.json", str(path))
        decoded = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except (ValueError, RecursionError) as error:
        place = (
            f"{path}:{error.lineno}:{error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else str(path)
        )
        raise InputError(f"is no JSON: {why_no_json(error)}", place) from None
    if not isinstance(decoded, dict):
        raise InputError("a JSON object was expected", str(path))
    return decoded


def _weights_in(folder: Path) -> int | None:
    """Total size of the checkpoint: what its safetensors index says, or the files' own size."""
    index = folder / "model.safetensors.index.json"
    try:
        if index.is_file():
            total = (
                json.loads(index.read_text(encoding="utf-8")).get("metadata", {}).get("total_size")
            )
            if isinstance(total, int | float) and 1 <= total <= _LARGEST_CHECKPOINT_BYTES:
                return int(total)
        sizes = [file.stat().st_size for file in folder.glob("*.safetensors")]
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return sum(sizes) or None
