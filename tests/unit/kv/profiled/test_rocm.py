"""What builds for AMD cards add to the weights: by the arithmetic of vLLM's source, and against a
public start.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.kv.deployment import Deployment
from barostat.kv.profiled.rocm import padding_bytes, pinned_bytes
from barostat.kv.quantization import WeightFormat, weight_format
from barostat.kv.read_architecture import read_architecture

MIXTURE, DENSE = "Qwen/Qwen3-30B-A3B", "meta-llama/Llama-3.1-8B-Instruct"


def asked(name: str, version: str, **changes: Any) -> tuple[Any, Deployment, WeightFormat]:
    listed, stated = find_model(name), parse_version(version)
    assert listed is not None
    assert stated is not None
    model = read_architecture(listed.config, name)
    flag = changes.pop("quantization", None)
    flags = Deployment(
        version=stated,
        max_model_len=8192,
        max_num_batched_tokens=8192,
        max_num_seqs=256,
        **{"rocm": True} | changes,
    )
    return model, flags, weight_format(model.config, model.text, flag, "bfloat16", name)


def test_rows_of_experts_get_256_bytes_each() -> None:
    # 48 layers of 128 experts: 2 x 768 rows of 2,048 values, and 2,048 rows of 768.
    padded = padding_bytes(*asked(MIXTURE, "0.19.0"))
    assert padded == 48 * 128 * (2 * 768 + 2048) * 256


def test_rows_that_are_no_multiple_of_512_bytes_get_none() -> None:
    # On four ranks a row of the second matrix has 192 values, 384 bytes.
    padded = padding_bytes(*asked(MIXTURE, "0.19.0", tp=4))
    assert padded == 48 * 128 * (2 * 192) * 256


@pytest.mark.parametrize(("version", "gib"), [("0.26.0", 0.0), ("0.28.0", 15.0), ("0.29.0", 0.0)])
def test_what_the_allocator_keeps_counts_while_free_memory_is_compared(
    version: str, gib: float
) -> None:
    """A start of 0.28.0 on an MI300X has 24 GiB less pool than weights and profile leave."""
    assert pinned_bytes(*asked(MIXTURE, version)) / GIB == pytest.approx(gib)


def test_nothing_of_it_elsewhere() -> None:
    for found in (
        asked(MIXTURE, "0.28.0", rocm=False),
        asked(MIXTURE, "0.29.0"),
        asked(DENSE, "0.28.0"),
    ):
        assert padding_bytes(*found) == 0
        assert pinned_bytes(*found) == 0


def test_rows_of_fp8_layers_get_256_bytes_each() -> None:
    # 32 layers: 6,144 rows and 28,672 of 4,096 values, 4,096 rows of 4,096 and as many of 14,336.
    padded = padding_bytes(*asked(DENSE, "0.32.0", quantization="fp8"))
    assert padded == 32 * (6144 + 28_672 + 4096 + 4096) * 256
