"""A model's folder from somebody else: what its index claims is believed only where it can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.input_files.model_files import open_model


@pytest.mark.parametrize(
    ("claimed", "believed"),
    [
        ("16000000000", 16_000_000_000),
        ("Infinity", 5),
        ("NaN", 5),
        ("0.1", 5),
        ("-1", 5),
        ("1e300", 5),
        ('"x"', 5),
    ],
)
def test_the_size_of_a_checkpoint_is_the_files_where_the_index_names_none(
    tmp_path: Path, claimed: str, believed: int
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"12345")
    (tmp_path / "model.safetensors.index.json").write_text(
        f'{{"metadata": {{"total_size": {claimed}}}}}'
    )
    assert open_model(str(tmp_path)).weights_bytes == believed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"hidden_size": ' + b"9" * 5000 + b"}", "is no JSON: a number of more than 4,300 digits"), (b"{} x", "is no JSON: Extra data"),
        (b"\xff\xfe{}", "is no JSON: not UTF-8 text"), (b"[" * 200_000, "is no JSON: nested too deeply"),
        (b"[]", "a JSON object was expected"),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_read_is_told_in_one_sentence(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(InputError) as found:
        open_model(str(tmp_path / "config.json"))
    assert said in str(found.value)
    assert "sys." not in str(found.value)
