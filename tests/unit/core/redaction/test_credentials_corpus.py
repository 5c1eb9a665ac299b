# ruff: noqa: E501  (a form a line would be three hundred lines)
"""A corpus of secrets in the forms in which they are met, with their harmless look-alikes: nothing
leaks, hardly anything harmless is lost.

No key in here was ever one: each is made from a seed when the test runs.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

import pytest

from barostat.core.redaction.credentials import REDACTED, arguments, clean, environment
from barostat.io.redaction.text import log_lines

_DICE = random.Random(20261123)
MOST_LOST_RATIO = 0.01


def _made(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """A made key of that length; one digit and one letter at least."""
    word = "".join(_DICE.choice(alphabet) for _ in range(length - 2))
    return f"{word}7{_DICE.choice([c for c in alphabet if c.isalpha()] or ['0'])}"


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


def _shapes() -> Iterator[tuple[str, str]]:
    """(name, key) of issuers' keys, by their prefixes."""
    yield from (
        ("hugging face", f"hf_{_made(34)}"), ("openai", f"sk-{_made(48)}"), ("openai project", f"sk-proj-{_made(40)}"),
        ("anthropic", f"sk-ant-api03-{_made(60)}"), ("stripe", f"sk_live_{_made(24)}"), ("stripe hook", f"whsec_{_made(32)}"),
        ("github", f"ghp_{_made(36)}"), ("github app", f"ghs_{_made(36)}"), ("github fine", f"github_pat_{_made(60)}"),
        ("gitlab", f"glpat-{_made(20)}"), ("gitlab runner", f"glrt-{_made(20)}"), ("aws", f"AKIA{_made(16, UPPER)}"),
        ("aws session", f"ASIA{_made(16, UPPER)}"), ("google", f"AIza{_made(35)}"), ("google oauth", f"ya29.{_made(50)}"),
        ("google client", f"GOCSPX-{_made(28)}"), ("slack bot", f"xoxb-{_made(12)}-{_made(24)}"), ("slack app", f"xapp-1-{_made(40)}"),
        ("slack hook", f"https://hooks.slack.com/services/T{_made(8, UPPER)}/B{_made(8, UPPER)}/{_made(24)}"),
        ("nvidia", f"nvapi-{_made(64)}"), ("groq", f"gsk_{_made(52)}"), ("replicate", f"r8_{_made(37)}"), ("perplexity", f"pplx-{_made(48)}"),
        ("xai", f"xai-{_made(60)}"), ("fireworks", f"fw_{_made(24)}"), ("npm", f"npm_{_made(36)}"), ("pypi", f"pypi-{_made(60)}"),
        ("docker", f"dckr_pat_{_made(27)}"), ("databricks", f"dapi{_made(32, HEX)}"), ("vault", f"hvs.{_made(28)}"),
        ("digitalocean", f"dop_v1_{_made(64, HEX)}"), ("grafana", f"glsa_{_made(32)}"), ("sendgrid", f"SG.{_made(22)}.{_made(43)}"),
        ("shopify", f"shpat_{_made(32, HEX)}"), ("new relic", f"NRAK-{_made(27, UPPER)}"), ("postman", f"PMAK-{_made(24, HEX)}-{_made(34, HEX)}"),
        ("tailscale", f"tskey-auth-{_made(20)}"), ("terraform", f"{_made(14)}.atlasv1.{_made(60)}"), ("atlassian", f"ATATT3{_made(60)}"),
        ("linear", f"lin_api_{_made(40)}"), ("jwt", f"eyJ{_made(20)}.eyJ{_made(40)}.{_made(43)}"), ("rubygems", f"rubygems_{_made(48, HEX)}"),
        ("sentry", f"sntrys_{_made(60)}"), ("jfrog", f"AKCp{_made(69)}"), ("doppler", f"dp.pt.{_made(43)}"),
        ("gitlab feed", f"glffct-{_made(20)}"), ("gitlab mail", f"glimt-{_made(24)}"), ("gitlab agent", f"glagent-{_made(40)}"),
        ("databricks oauth", f"dose{_made(32, HEX)}"), ("bedrock", f"ABSK{_made(100)}"), ("together", f"tgp_v1_{_made(40)}"),
        ("langsmith", f"lsv2_pt_{_made(32, HEX)}_{_made(10, HEX)}"), ("weights and biases", f"wandb_v1_{_made(60)}"), ("jina", f"jina_{_made(50)}"),
        ("runpod", f"rpa_{_made(40, UPPER)}"), ("posthog", f"phc_{_made(43)}"), ("notion", f"ntn_{_made(46)}"), ("supabase", f"sbp_{_made(40, HEX)}"),
        ("planetscale", f"pscale_tkn_{_made(43)}"), ("buildkite", f"bkua_{_made(40)}"), ("circleci", f"CCIPAT_{_made(22)}_{_made(40, HEX)}"),
        ("fly", f"fm2_{_made(60)}"), ("sonar", f"sqp_{_made(40, HEX)}"), ("cerebras", f"csk-{_made(40)}"), ("tavily", f"tvly-{_made(32)}"),
        ("vault recovery", f"hvr.{_made(40)}"), ("entra", f"{_made(3)}8Q~{_made(34)}"), ("google refresh", f"1//0{_made(60)}"),
        ("paseto", f"v2.local.{_made(80)}"), ("telegram", f"bot123456789:AA{_made(33)}"), ("jwe", f"eyJ{_made(20)}..{_made(16)}.{_made(60)}.{_made(22)}"),
        ("teams", f"https://acme.webhook.office.com/webhookb2/{_made(30)}/IncomingWebhook/{_made(32)}"), ("packed pem", f"LS0tLS1CRUdJTi{_made(60)}"),
        ("packed json", f"eyJ{_made(60)}"),
    )  # fmt: skip


SPOKEN = (
    "API key provided: {}", "Incorrect API key provided: {}.", "api key {} is not valid", "the password is {}", "password {}", "passphrase: {}",
    "token {} has expired", "secret={}", "Access key: '{}'", "using token `{}`", 'credential "{}" refused', "Authorization: Bearer {}",
    "authorization: Basic {}", "X-Api-Key: {}", "Cookie: session={}", "curl -u admin:{} http://host/", "curl --user 'me:{}' http://host/",
    "GET /v1/models?key={} HTTP/1.1", "GET /x?a=1&api_key={}&b=2", "https://host/cb?code={}", "https://host/b?sig={}&se=1",
    "postgres://user:{}@db:5432/x", "redis://:{}@cache:6379/0", "https://{}@github.com/org/repo.git", "amqp://u:{}@mq/vhost",
    "DB_PASS={} vllm serve m", "export VLLM_DB_PWD={}", "MY_PASSPHRASE={}", "db_password={}", "hf_token: {}", '{{"api_key": "{}"}}',
    "{{'client_secret': '{}'}}", "apiKey={},", "AccountKey={};EndpointSuffix=core.windows.net", "private_key={}", "aws_secret_access_key = {}",
    "SSL_KEYFILE_PASSWORD={}", "client-key-data: {}", "_authToken={}", "//registry/:_password={}", "signature={}", "X-Amz-Signature={}",
    "jdbc:postgresql://db/x?user=u&password={}", "spring.datasource.password={}", "bearer_token: {}", "wget --password={} http://host/",
    "cmd: ['vllm', 'serve', 'm', '--api-key', '{}', '--port', '8000']", 'args=["--api-key","{}","--port"]', "vllm serve m --api-key first7 {} --port 8000",
    "setenv HF_TOKEN {}", "ENV HF_TOKEN {}", "set -gx VLLM_API_KEY {}", "[(b'host', b'x'), (b'x-api-key', b'{}')]", "('Authorization', '{}')",
    '{{"name":"HF_TOKEN","value":"{}"}}', "- name: DB_PASSWORD\n  value: {}", "EnvVar{{Name:VLLM_API_KEY,Value:{},}}", "HTTP_PROXY=u:{}@proxy:3128",
    'https_proxy: "u:{}@proxy"', "MOONCAKE_MASTER=u:{}@host:50051", "requirepass {}", "masterauth {}", "redis-cli --pass {}", "redis-server --requirepass {}",
    "mongosh -u u -p {} host", "az login --service-principal -u a -p {} --tenant t", "rabbitmqctl add_user u {}", "vault login {}", "wandb login {}",
    "etcdctl --user root:{} get x", "ETCDCTL_USER=root:{}", "curl -su u:{} http://host", "curl -U u:{} -x p http://host", 'curl -b "sid={}" http://host',
    "curl --oauth2-bearer {} http://host", "http -a u:{} host", "ws://host/x?jwt={}", 'OTEL_EXPORTER_OTLP_HEADERS="x-team={}"', 'h: {{"x-honeycomb-team": "{}"}}',
    "password: |\n  {}", "password: >-\n    {}\nnext: 1", "api_key:\n- {}", "api_key: &k {}", "password := {}", "password&equals;{}", "password%253D{}",
    "password\\x3d{}", "passwords: [{}]", 'token={{"value":"{}"}}', "db_pw={}", "pw: {}", "passcode: {}", "auth_key: {}", "authkey={}", "HMAC_KEY={}",
    "SECRET_KEY_BASE={}", "JSESSIONID={}", "api_token {}", "api key ({}) was rejected", "--redis_password \"{}\"", "--wandb-key {}", "--s3-secret-key {}",
    "--db-pass {}", "--api.key={}", '"private_key_id": "{}"', 'Error: secret key "{}" in the wrong place', ".dockerconfigjson: {}", "aws configure set aws_secret_access_key {}",
    "sshpass -p {} ssh host", "mysql -u root -p{} db", "docker login -u me -p {} registry", "redis-cli -h cache -a {} ping",
    "kubectl create secret generic x --from-literal=k={}", "Ocp-Apim-Subscription-Key: {}", "<password>{}</password>", "password&#61;{}",
    "passwd%3D{}", "p\u200bassword={}", "HUGGING_FACE_HUB_TOKEN\\u003d{}", "VLLM_API_KEY: !!str {}", "bearer_token = b'{}'",
)  # fmt: skip
NAMES = (
    *(
        "DB_PASS",
        "DB_PASSWORD",
        "VLLM_API_KEY",
        "VLLM_DB_PWD",
        "VLLM_CACHE_PASSPHRASE",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "GITHUB_PAT",
    ),
    *(
        "AWS_SECRET_ACCESS_KEY",
        "SENTRY_DSN",
        "POSTGRES_CONNECTION_STRING",
        "COOKIE",
        "NCCL_AUTH",
        "CUDA_LICENSE_KEY",
        "db_pass",
        "my_token",
    ),
)
FLAGS = (
    *(
        "--api-key",
        "--api-k",
        "--api-ke",
        "--api_key",
        "--hf-token",
        "--hf-tok",
        "--hf_token",
        "--ssl-keyfile-password",
        "--ssl-keyfile-pass",
    ),
    *("--password", "--client-secret", "--token", "--access-key", "--secret-key", "--credentials"),
)


def _texts() -> list[tuple[str, str, str]]:
    """(what, text, key): the key may not be in what comes out."""
    made = [(f"{name} in a line", f"failed with {key} in use", key) for name, key in _shapes()]
    made += [
        (f"{name} cut by a colour", f"using {key[:9]}\x1b[31m{key[9:]}\x1b[0m now", key[9:])
        for name, key in _shapes()
    ]
    for form in SPOKEN:
        made += [
            (form, form.format(key), key)
            for key in (_made(24), _made(12), _made(10) + "!x9", f"{_made(6)}.{_made(8)}")
        ]
    made += [
        (f"url password with @ {at}", f"see https://user:{at}@host:8000/x", at)
        for at in ("p@ss7w", "a@b@c9", "x7:y@z")
    ]
    return made


TEXTS = _texts()
HARMLESS = (
    "docker run -p 8000:8000 -v /data:/data vllm/vllm-openai",
    "mysql -h db -P 3306 -u root",
    "ssh -p 2222 login.example.com",
    *(
        "hf_overrides=None",
        "{'hf_overrides': {'rope': 1}}",
        "hf_quantizer_config",
        "key-value-cache-manager",
        "fw_attention_kernel",
        "npm_config_cache",
        "sk_lookup_program",
    ),
    *(
        "xai-inference-server",
        "key-management-service pods",
        "SG.lang.runtime.server",
        "pk_users_id",
        "glc_cache_policy",
        "r8_kernel_fused",
        "bos_token=<s>",
        "eos_token='</s>'",
    ),
    *(
        "stop_token: <|im_end|>",
        "image_token=<image>",
        "token count=512",
        "GET /x?code=200",
        "sig: SIGTERM",
        "imagePullSecrets: [{name: regcred}]",
        "secret: {secretName: hf}",
    ),
    *(
        "--api-key is required",
        "usage: vllm serve [--api-key API_KEY [API_KEY ...]]",
        "--tokenizer-mode auto",
        "HF_TOKEN is not set",
        "use API_KEY from file",
        "basic functionality",
    ),
    *(
        "automountServiceAccountToken: false",
        "bearer_token_file: /var/run/secrets/token",
        "topologyKey: kubernetes.io/hostname",
        "sort_key=name",
        "pin_memory=True",
        "AUTH failed",
    ),
    *(f"digest sha256:{_made(64, HEX)}" for _ in range(3)),
    *(f"docker.io/vllm/vllm-openai:v0.10.0@sha256:{_made(64, HEX)}" for _ in range(3)),
    *(
        f"pod vllm-llama-{_made(9, HEX)}-{_made(5, HEX)} on ip-10-12-13-14.eu-west-1.compute.internal"
        for _ in range(3)
    ),
    "<token>",
    "$1$ per hour",
    "after login the page shows max_tokens=5",
    "mysqldump --port 3306 --all-databases",
    "caf\u00e9 \u200bkeys and values",
    "b'bytes' and token counts",
    *(f"image vllm/vllm-openai@sha256:{_made(64, HEX)}" for _ in range(10)),
    *(f"commit {_made(40, HEX)} is checked out" for _ in range(10)),
    *(
        f"request {_made(8, HEX)}-{_made(4, HEX)}-{_made(4, HEX)}-{_made(4, HEX)}-{_made(12, HEX)} aborted"
        for _ in range(10)
    ),
    *(f"INFO Added request chatcmpl-{_made(32, HEX)}." for _ in range(10)),
    *(
        f"Avg prompt throughput: {n}.{n} tokens/s, Running: {n} reqs, GPU KV cache usage: {n}.5%"
        for n in range(10, 40)
    ),
    *(f"GPU KV cache size: {n},{n}72 tokens" for n in range(10, 30)),
    *(
        f"--max-num-batched-tokens {2048 * n} --tokenizer-mode auto --api-server-count {n}"
        for n in range(1, 11)
    ),
    *(f"max_tokens={n}, temperature=0.{n}, n=1" for n in range(1, 11)),
    *(
        "password authentication failed",
        "the API key is missing",
        "no token was given",
        "token limit reached",
        "secret not found: hf-secret",
    ),
    *(
        "a bad token count",
        "Key error in cache",
        "the tokenizer is loaded",
        "credentials are read from the environment",
        "api key is required",
    ),
    *(
        "http://localhost:8000/metrics",
        "http://10.0.0.1:8000/v1/models?limit=3",
        "tcp://[::1]:29500",
        "https://huggingface.co/Qwen/Qwen3-8B",
    ),
    *(
        "meta-llama/Llama-3.1-8B-Instruct",
        "Qwen/Qwen2.5-VL-3B-Instruct",
        "vllm 0.32.0+cpu",
        "CUDA_VISIBLE_DEVICES=0,1",
        "NCCL_DEBUG=INFO",
    ),
    *(
        "KeyError: 'model'",
        "prefix cache hit rate: 0.0%",
        "block hash 0x7f00aa12bb34",
        "GPU-8f1c2d3e-1a2b-3c4d-5e6f-708192a3b4c5",
        "Xid 79",
    ),
    *(
        "first token: 99th percentile 7.5 s",
        "time per output token: 40ms",
        "until the next token: 12.5ms",
    ),
    *(
        "tokens_per_s=1234.5",
        "token_ids=[1, 2, 3]",
        "stop_token_ids=[]",
        "auth=None",
        "passing 3 tokens",
        "compass heading",
        "bypass=true",
    ),
    *(
        "keyboard interrupt",
        "monkey patching",
        "tokens: 300",
        "total tokens 4096",
        "the pass took 3 s",
        "2 passed, 0 failed",
        "sort key name",
    ),
)


def test_the_corpus_is_large() -> None:
    assert len({text for _, text, _ in TEXTS}) + len(NAMES) + len(FLAGS) >= 300
    assert len(HARMLESS) >= 140


@pytest.mark.parametrize(
    ("what", "text", "key"), TEXTS, ids=lambda value: value[:24] if isinstance(value, str) else None
)
def test_a_secret_in_a_text_does_not_come_out(what: str, text: str, key: str) -> None:
    del what
    assert key not in clean(text), clean(text)
    assert key not in "\n".join(log_lines([f"INFO 06-01 10:00:00 [x.py:1] {text}"]))


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_does_not_come_out(name: str) -> None:
    key = _made(20)
    assert key not in str(environment({name: key}))
    assert key not in str(arguments(f"{name}={key} vllm serve m"))
    assert key not in clean(f"{name}={key}")


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flags_value_does_not_come_out(flag: str) -> None:
    key = _made(20)
    assert key not in str(arguments(("vllm", "serve", "m", flag, key)))
    assert key not in str(arguments(("vllm", "serve", "m", f"{flag}={key}")))
    assert key not in str(arguments(f"vllm serve m {flag} {key} --max-model-len 8"))


def test_every_line_of_a_key_in_a_log_goes() -> None:
    body = [_made(64) for _ in range(6)]
    lines = [
        "ERROR cannot read:",
        "-----BEGIN RSA PRIVATE KEY-----",
        *body,
        "-----END RSA PRIVATE KEY-----",
        "INFO 06-01 10:00:00 on it goes",
    ]
    kept = "\n".join(log_lines(lines))
    assert not [line for line in body if line in kept]
    assert "on it goes" in kept
    assert not [line for line in body if line in clean("\n".join(lines))]


@pytest.mark.parametrize(
    "line",
    [
        "INFO 06-01 10:00:00 [x.py:1] prompt: tell me about my illness, please",
        "DEBUG handler: user_message=what is my bank balance",
        "Received request cmpl-1: prompt: my name is Alice and I live here, params: SamplingParams(n=1)",
    ],
)
def test_a_prompt_without_quotes_does_not_come_out(line: str) -> None:
    kept = "\n".join(log_lines([line]))
    assert not [word for word in ("illness", "balance", "Alice") if word in kept]


def test_what_is_harmless_stays() -> None:
    lost = [text for text in HARMLESS if clean(text) != text]
    assert len(lost) <= MOST_LOST_RATIO * len(HARMLESS), lost
    assert REDACTED not in "".join(
        str(arguments(("vllm", "serve", "m", "--api-server-count", "4", "--tokenizer", "x")))
    )


@pytest.mark.parametrize(
    "flag", ["--password correcthorse", "--db-pass staple", "--api-key battery"]
)
def test_a_word_behind_a_secret_flag_in_a_log_goes(flag: str) -> None:
    assert (
        clean(f"started with {flag} --port 8000")
        == f"started with {flag.split()[0]} {REDACTED} --port 8000"
    )
