"""A random word in the place of a value goes whatever its name is; what is public stays."""

from __future__ import annotations

import base64
import time

import pytest
from tests.support.machine_pace import slower

from barostat.core.redaction.credentials import clean

DRAWN = "8DPKv7hF8Kz5"
HEX = "9b7ffccc614ccf626d9aa708f59406771b14952d"
UUID = "3b9f0c7e-1d2a-4e5b-8c6f-7a8b9c0d1e2f"

SECRETS = [
    f"GATE_OPENER='{DRAWN}'",
    f'os.environ["WANDB"] = "{HEX}"',
    f"env: [{{name: WANDB, value: {HEX}}}]",
    f"pepper: {HEX}",
    f"x-unheard-of: {DRAWN}{DRAWN}",
    f"--opener {DRAWN}",
    f'connect("neo4j", "{DRAWN}")',
    f"+ echo {DRAWN}",
    f"Key={HEX}",
    f"newissuer_{HEX}",
    "GATE_LICENCE=U53WU-9LQON-PT2PY-DCRKF-7YNL1",
    f"https://api.internal/v1/keys/pri_{HEX}",
]
FOREIGN = [
    "Passwort: ",
    "contraseña=",
    "mot de passe : ",
    "密码：",
    "パスワード: ",
    "пароль: ",
    "DB_PASSWORT=",
]
PUBLIC = [
    f"commit={HEX}",
    f"GITHUB_SHA={HEX}",
    f"cache_key={HEX}",
    f"cache key: {HEX}",
    f"POD_UID={UUID}",
    f"CUDA_VISIBLE_DEVICES=GPU-{UUID}",
    "etag: 8DPKv7hF8Kz5uT2w",
    "--revision a2856192dd7c25b842431f39c179a6c2c2f627d1",
    f"chatcmpl-{HEX[:32]} finished",
    "load('Qwen2ForCausalLM')",
    "hostname=vllm-decode-7c9d8f6b5-x2v4q",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0f1e2d3c4b5a69788796a5b4c3d2e1f0a1b2c3d4",
]  # fmt: skip


@pytest.mark.parametrize("text", SECRETS)
def test_a_random_value_goes_whatever_its_name_is(text: str) -> None:
    cleaned = clean(text)
    assert "[redacted]" in cleaned
    assert not any(part in cleaned for part in (DRAWN, HEX, "PT2PY"))


@pytest.mark.parametrize("name", FOREIGN)
def test_a_password_in_another_language_goes(name: str) -> None:
    assert "sommerwind" not in clean(f"{name}sommerwind7")


@pytest.mark.parametrize("text", PUBLIC)
def test_what_is_public_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("said", ["password=hunter2-hunter2", "vllm-user:correct-horse-9"])
def test_what_is_encoded_is_read_as_what_it_stands_for(said: str) -> None:
    for encoded in (
        base64.b64encode(said.encode()).decode(),
        base64.urlsafe_b64encode(said.encode()).decode().rstrip("="),
        said.encode().hex(),
    ):
        assert clean(f"payload {encoded} sent") == "payload [redacted] sent"
    harmless = b"Running 3 requests, waiting 4".hex()
    assert clean(f"payload {harmless} sent") == f"payload {harmless} sent"


@pytest.mark.sweep
@pytest.mark.parametrize(
    "text",
    ["a1=", "a1B2c3D4 ", "aB3=aB3", "A1-A1-", "x_0f", "[redacted]-", "('a1B2c3D4e5',", "\\", "a1B2c3D4e5:"],
)  # fmt: skip
def test_what_is_repeated_takes_no_longer_than_it_is_long(text: str) -> None:
    began = time.process_time()
    clean("a1B2c3D4e5 " + (text * 64_000)[:64_000])
    assert time.process_time() - began < 2.0 * slower()
