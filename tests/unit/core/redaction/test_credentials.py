"""Secrets of many shapes, and the ordinary text that must survive."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barostat.core.redaction.credentials import arguments, clean, environment, secret_name

SECRET = "q7Zk9XwV3bN8tR2m"

SHAPES = [
    "hf_AbCdEfGhIjKlMnOpQrStUvWx",
    "sk-proj-abcDEF1234567890abcd",
    "sk-ant-api03-abcdef_123456",
    "ghp_0123456789abcdefABCDEF0123456789abcd",
    "github_pat_11ABCDEFG0abcdefghij",
    "glpat-AbCdEfGhIjKlMnOp",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstu",
    "xoxb-123456789012-abcdefGHIJKL",
    "nvapi-AbCdEfGh_IjKl-MnOp",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
]
SETTINGS = [
    "api_key={}",
    "api_key='{}'",
    "'api_key': ['{}', 'x']",
    '"api_key": "{}"',
    '{{\\"api_key\\": \\"{}\\"}}',
    "hf_token={}",
    "HF_TOKEN={}",
    "VLLM_API_KEY={}",
    "AWS_SECRET_ACCESS_KEY={}",
    "aws_secret_access_key = {}",
    "password: {}",
    "PASSWORD='{}'",
    "db_password={}&x=1",
    "client_secret={}",
    "Authorization: Bearer {}",
    "authorization: Basic {}",
    '{{"Authorization": "Bearer {}"}}',
    "headers={{'authorization': 'Bearer {}'}}",
    "X-Api-Key: {}",
    "Cookie: session={}; theme=dark",
    "token={}",
    "access_token={}",
    "https://user:{}@host/path",
    "redis://:{}@cache:6379/0",
    "https://host/path?api_key={}&x=1",
    "https://host/path?token={}",
    "https://bucket/x?X-Amz-Signature={}",
    "AccountKey={};EndpointSuffix=core",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "Bearer {}",
]


@pytest.mark.parametrize("token", SHAPES)
@pytest.mark.parametrize(
    "around", ["{}", "using {} now", '"{}"', "x={}", "({})", "a:{},", "https://h/{}/x"]
)
def test_a_token_of_a_known_shape_is_taken_out_wherever_it_stands(token: str, around: str) -> None:
    assert token not in clean(around.format(token))


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_value_beside_a_telling_name_is_taken_out(setting: str) -> None:
    assert SECRET not in clean(
        f"INFO 01-02 03:04:05 [x.py:1] before {setting.format(SECRET)} after"
    )


@settings(max_examples=100)
@given(
    st.sampled_from(SETTINGS),
    st.text(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.",
        min_size=12,
        max_size=40,
    ).filter(lambda text: text[0].isalnum()),
    st.text(max_size=30),
)
def test_any_secret_in_any_setting_is_taken_out(setting: str, secret: str, before: str) -> None:
    if not any(char.isdigit() for char in secret):
        secret += "7"
    assert secret not in clean(f"{before.replace(secret, '')} {setting.format(secret)}")


@pytest.mark.parametrize(
    "text",
    [
        "GPU KV cache size: 1,234 tokens, Maximum concurrency for 8,192 tokens per request: 1.20x",
        (
            "Avg prompt throughput: 8351.5 tokens/s, Avg generation throughput: 966.0 "
            "tokens/s, Running: 170 reqs, Waiting: 102 reqs"
        ),
        "Chunked prefill is enabled with max_num_batched_tokens=2048.",
        (
            "non-default args: {'model': 'meta/x', 'max_num_seqs': 64, 'api_key': None, "
            "'hf_token': None}"
        ),
        'vllm:prompt_tokens_total{engine="0",model_name="m"} 12345.0',
        (
            "tokenizer='/models/x', tokenizer_mode=auto, skip_tokenizer_init=False, "
            "eos_token_id=2, max_tokens=16"
        ),
        "mean_time_per_output_token=0.052",
        "error: unrecognized arguments: --max-num-sequences 5",
        "http://user-service:8000/v1/models",
        "basic scheduler, bearer of news, digest of the log",
    ],
)
def test_ordinary_text_survives(text: str) -> None:
    assert clean(text) == text


def test_a_long_line_takes_no_long_time() -> None:
    for line in (
        "a" * 60_000,
        "token_" * 10_000,
        "x=" * 30_000,
        "'" * 60_000,
        "://" * 20_000,
        "hf_ sk- eyJ" * 6_000,
        "-_." * 20_000,
    ):
        assert len(clean(line)) <= len(line) * 4


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--api-key", SECRET, "--port", "8000"), ("--api-key", "[redacted]", "--port", "8000")),
        (
            ("--api-key", SECRET, SECRET, "--port", "8000"),
            ("--api-key", "[redacted]", "[redacted]", "--port", "8000"),
        ),
        ((f"--api-key={SECRET}", "m"), ("--api-key=[redacted]", "m")),
        (("--hf-token", SECRET, "model"), ("--hf-token", "[redacted]", "model")),
        (("--hf_token", SECRET), ("--hf_token", "[redacted]")),
        (
            ("--tokenizer", "x", "--max-num-batched-tokens", "2048"),
            ("--tokenizer", "x", "--max-num-batched-tokens", "2048"),
        ),
        (
            (
                "sh",
                "-c",
                (
                    f"export HF_TOKEN={SECRET} VLLM_USE_V1=1; vllm serve m --api-key "
                    f"'{SECRET}' --port 1"
                ),
            ),
            (
                "sh",
                "-c",
                (
                    "export HF_TOKEN=[redacted] VLLM_USE_V1=1; vllm serve m --api-key "
                    "[redacted] --port 1"
                ),
            ),
        ),
        (
            f"MY_OWN={SECRET} vllm serve m --api-key={SECRET} --max-model-len 4096",
            "MY_OWN=[redacted] vllm serve m --api-key=[redacted] --max-model-len 4096",
        ),
        (
            f"vllm serve m --api-key {SECRET} && sleep 1",
            "vllm serve m --api-key [redacted] && sleep 1",
        ),
        (
            f"vllm serve m --otlp-traces-endpoint http://u:{SECRET}@h/",
            "vllm serve m --otlp-traces-endpoint http://[redacted]@h/",
        ),
        (None, None),
        ((), ()),
    ],
)
def test_a_command_line_keeps_everything_but_its_secrets(
    args: tuple[str, ...] | str | None, expected: tuple[str, ...] | str | None
) -> None:
    assert arguments(args) == expected


def test_only_variables_known_to_be_harmless_stay() -> None:
    env = {
        "VLLM_USE_V1": "1",
        "VLLM_API_KEY": SECRET,
        "NCCL_DEBUG": "INFO",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "OMP_NUM_THREADS": "4",
        "HF_HUB_OFFLINE": "1",
        "HF_TOKEN": SECRET,
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "VLLM_HOST_PROXY": f"http://u:{SECRET}@h",
        "DATABASE_URL": f"postgres://u:{SECRET}@h/d",
        "HOME": "/home/somebody",
        "TORCH_LOGS_AUTH": SECRET,
    }
    found = environment(env)
    kept = (
        "VLLM_USE_V1 NCCL_DEBUG CUDA_VISIBLE_DEVICES OMP_NUM_THREADS HF_HUB_OFFLINE "
        "PYTORCH_CUDA_ALLOC_CONF VLLM_HOST_PROXY"
    )
    assert set(found) == set(kept.split())
    assert SECRET not in str(found)


@example("VLLM_ALLOW_LONG_MAX_MODEL_LEN")
@example("MAX_NUM_BATCHED_TOKENS")
@example("TOKENIZERS_PARALLELISM")
@given(st.sampled_from(["VLLM_TOKENIZER_MODE", "max_tokens", "num_tokens", "OMP_NUM_THREADS"]))
def test_a_name_with_tokens_of_text_in_it_is_no_secret(name: str) -> None:
    assert not secret_name(name)


def test_our_own_sentences_about_a_field_are_left_whole() -> None:
    for said in (
        "limits.yaml:5:13: spec.request.maxOutputToken: is no known key",
        "--admin-token: must be a file",
        "edge.auth: is a list",
    ):
        assert clean(said) == said
    assert "isidor7" not in clean("request.token: isidor7")
