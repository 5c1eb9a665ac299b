"""The catalogue's data files: each line is a model that says where its numbers were read; none is
left behind or forgotten.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.catalog import models
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.weights import weight_bytes

FOLDER = Path(models.__file__).parent


def test_every_data_file_is_read_and_every_line_is_a_model() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.jsonl")) == sorted(
        (*models.FILES, models.SIBLINGS)
    )
    rows = [
        json.loads(line)
        for name in models.FILES
        for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert len(rows) > 100
    assert len({row["name"].lower() for row in rows}) == len(rows) == len(models.shape_names())
    for row in rows:
        assert list(row) == ["name", "source", "config"]
        assert row["source"], f"{row['name']} does not say where it was read"
        assert models.find_model(row["name"]) is not None


def _parameters(name: str) -> float:
    """Billions, as the weights are sized."""
    found = models.find_model(name)
    assert found is not None
    architecture = read_architecture(found.config, name)
    form = weight_format(architecture.config, architecture.text, None, "bfloat16")
    return weight_bytes(architecture, form, 1, 1).parameters / 1e9


# As the model cards give them.
@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("meta-llama/Llama-3.2-3B-Instruct", 3.2), ("meta-llama/Meta-Llama-3-8B-Instruct", 8.0), ("meta-llama/Llama-2-13b-chat-hf", 13.0),
        ("meta-llama/Llama-2-70b-hf", 69.0), ("meta-llama/Llama-3.1-405B-Instruct", 405.9), ("Qwen/Qwen2.5-14B-Instruct", 14.8),
        ("Qwen/QwQ-32B", 32.8), ("Qwen/Qwen2-72B-Instruct", 72.7), ("mistralai/Mixtral-8x7B-Instruct-v0.1", 46.7),
        ("mistralai/Mixtral-8x22B-Instruct-v0.1", 140.6), ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 1.78),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", 70.6), ("zai-org/GLM-4.5-Air", 106.9), ("zai-org/GLM-4.6", 353.0),
        ("google/gemma-2-9b-it", 9.24), ("microsoft/Phi-3-mini-128k-instruct", 3.8), ("Qwen/Qwen3-235B-A22B-Instruct-2507", 235.1),
    ],
)  # fmt: skip
def test_a_checkpoint_of_a_known_shape_has_the_parameters_that_it_is_known_for(
    name: str, billions: float
) -> None:
    assert _parameters(name) == pytest.approx(billions, rel=0.01)


def test_a_checkpoint_of_a_known_shape_says_whose_and_keeps_what_is_its_own() -> None:
    for row in map(
        json.loads, (FOLDER / f"{models.SIBLINGS}.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        found = models.find_model(row["name"])
        assert found is not None
        assert f"the shape of {row['shape_of']}" in found.source
        assert all(found.config.get(field) == value for field, value in row["config"].items())


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("someone/Qwen2.5-14B-Instruct-AWQ", "max_position_embeddings", 32_768), ("x/Llama-2-13B-chat-AWQ", "num_hidden_layers", 40),
        ("x/llama-3-70b-instruct-awq", "max_position_embeddings", 8192),
        ("x/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "max_position_embeddings", 131_072),
        ("x/Meta-Llama-3.1-70B-Instruct-FP8", "num_hidden_layers", 80),
    ],
)  # fmt: skip
def test_the_names_that_others_give_a_checkpoint_of_another_format_are_understood(
    name: str, field: str, value: int
) -> None:
    found = models.find_model(name)
    assert found is not None
    assert found.config[field] == value


def test_lists_that_were_written_as_runs_are_lists_again() -> None:
    model = models.find_model("allenai/Olmo-3.1-32B-Instruct")
    assert model is not None
    layers, depth = model.config["layer_types"], model.config["num_hidden_layers"]
    assert isinstance(layers, list)
    assert len(layers) == depth
    assert set(layers) == {"sliding_attention", "full_attention"}
