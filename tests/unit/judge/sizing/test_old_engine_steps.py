"""Steps of the old engine: a whole prompt, or a chunk where the model's length is beyond 32,768
tokens.
"""

from __future__ import annotations

import pytest
from tests.unit.judge.sizing.test_plan import made


@pytest.mark.parametrize(("version", "words", "tokens"), [
    ("0.7.2", ("Qwen/Qwen2.5-14B", "--max-model-len", "131072"), 2048),
    ("0.6.4", ("meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "35000"), 512),
    ("0.6.4", ("meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "29000"), 29_000),
    ("0.7.3", ("deepseek-ai/DeepSeek-V2-Lite", "--max-model-len", "65536"), 65_536),
])  # fmt: skip
def test_long_prompts_are_chunked_by_themselves(
    version: str, words: tuple[str, ...], tokens: int
) -> None:
    found = made(*words, "--gpu", "H100", "--engine-version", version)
    assert found.flags.max_num_batched_tokens == tokens
