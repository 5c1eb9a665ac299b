"""The catalogue's data files: each line is a model that says where its numbers were read; none is left behind or forgotten."""

from __future__ import annotations

import json
from pathlib import Path

from barostat.catalog import models

FOLDER = Path(models.__file__).parent


def test_every_data_file_is_read_and_every_line_is_a_model() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.jsonl")) == sorted(models.FILES)
    rows = [json.loads(line) for name in models.FILES for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 100
    assert len({row["name"].lower() for row in rows}) == len(rows) == len(models.model_names())
    for row in rows:
        assert list(row) == ["name", "source", "config"]
        assert row["source"], f"{row['name']} does not say where it was read"
        assert models.find_model(row["name"]) is not None


def test_lists_that_were_written_as_runs_are_lists_again() -> None:
    model = models.find_model("allenai/Olmo-3.1-32B-Instruct")
    assert model is not None
    layers, depth = model.config["layer_types"], model.config["num_hidden_layers"]
    assert isinstance(layers, list)
    assert len(layers) == depth
    assert set(layers) == {"sliding_attention", "full_attention"}
