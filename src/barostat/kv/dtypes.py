"""Bytes per number of each data type, by the names that vLLM and checkpoints use."""

from __future__ import annotations

from fractions import Fraction

from barostat.core.errors import InputError

ITEM_BYTES: dict[str, int] = {
    "float32": 4, "float": 4, "fp32": 4, "float16": 2, "half": 2, "fp16": 2, "bfloat16": 2, "bf16": 2,
    "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1,
}  # fmt: skip

# Bytes per latent row in a DeepSeek sparse layout. Source: vLLM 0.32.0,
# MLAAttention.get_kv_cache_spec.
LATENT_ROW_BYTES: dict[str, int] = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}


def item_bytes(dtype: str) -> int:
    """Return the bytes of one number.

    Errors: InputError for an unknown data type.
    """
    found = ITEM_BYTES.get(dtype.removeprefix("torch."))
    if found is None:
        raise InputError(
            f"{dtype!r} is not a known data type; known: {', '.join(sorted(ITEM_BYTES))}",
            "dtype",
        )
    return found


def head_token_bytes(kv_dtype: str, model_dtype: str, key_dim: int, value_dim: int) -> Fraction:
    """Return the bytes of K and V of one token in one KV head of one attention layer.

    nvfp4 stores half a byte a number and one scale byte per 16 numbers; the per-token-head dtypes
    store two 4-byte scales beside their numbers.
    Errors: InputError for an unknown dtype.
    """
    numbers = key_dim + value_dim
    match kv_dtype:
        case "auto" | "":
            return Fraction(numbers * item_bytes(model_dtype))
        case "nvfp4" | "nvfp4_4over6":
            return Fraction(numbers, 2) + Fraction(numbers, 16)
        case "int8_per_token_head" | "fp8_per_token_head":
            return Fraction(numbers + 8)
        case "int4_per_token_head":
            return Fraction(numbers, 2) + 8
        case _:
            return Fraction(numbers * item_bytes(kv_dtype))


def latent_token_bytes(kv_dtype: str, model_dtype: str, dim: int) -> int:
    """Return the bytes of one token in one MLA layer. `dim`: latent plus rotary dimensions.

    Errors: InputError for an unknown dtype.
    """
    if kv_dtype in LATENT_ROW_BYTES:
        return LATENT_ROW_BYTES[kv_dtype]
    return dim * item_bytes(model_dtype if kv_dtype in ("auto", "") else kv_dtype)
