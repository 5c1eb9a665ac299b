# ruff: noqa: E501  (one line of a log a line)
"""Lines that look as if they held a secret and hold none, written without a look at the code that
removes secrets. Placeholders are those of `secret_forms`.
"""

from __future__ import annotations

import random

from tests.support.secret_forms import fill

_NAMES_OF_PODS = (
    "sk-vllm-gateway-{_h10}-{_h5} is Ready", "pod hf-cache-warmer-{_h10}-{_h5} deleted", "key-value-store-{_h10}-{_h5} restarted", "key-rotation-cronjob-{_d8}-{_h5} completed", "secret-sync-{_h9}-{_h5} started", "token-counter-{_h10}-{_h5} evicted", "auth-proxy-{_h10}-{_h5} is running", "pat-router-{_h9}-{_h5}",
    "deploy/password-reset-ui scaled to 2", "svc/api-key-service has no endpoints", "namespace/secrets-store created", "statefulset.apps/vault-0", "job/sk-batch-{_h5} failed", "glsa-frontend-{_h10}", "npm-cache-{_h10}-{_h5}", "xai-eval-{_h10}-{_h5}", "gsk-loader-{_h9}-{_h5}", "ray-worker-key-pool-{_h5} lost", "replicaset token-bucket-{_h10}", "node ip-10-0-3-17.ec2.internal has key taint",
)  # fmt: skip
_COUNTS = (
    "pass=3 fail=0", "pass: 12, skipped: 1", "passed=41 failed=2 token=0", "tokens=300 keys=4", "token_count=512", "key_count: 128", "num_tokens: 8192", "max_tokens=4096", "prompt_tokens=17 completion_tokens=5 total_tokens=22", "cached_tokens: 1024", "token budget 8192", "tokens per second: 1534.2", "pass 2 of 3", "pass=1", "second pass took 4 ms", "bypass_cache=False", "token_ratio=0.85", "keys: 64, values: 64", "num_key_value_heads=8", "head_dim=128 key_dim=64", "token_id=128009", "key_length=7 value_length=12", "session_count=12", "sessions: 4", "auth_failures=3", "secrets: 0", "cookie_count=0", "auth_required=false", "token_throughput=123.4", "api_keys_loaded: 3",
)  # fmt: skip
_TOKENIZER = (
    "bos_token: <|begin_of_text|>", "eos_token: <|eot_id|>", "pad_token=<|finetune_right_pad_id|>", "unk_token='<unk>'", "bos_token='<|begin_of_text|>', eos_token='<|end_of_text|>'", "mask_token: [MASK]", "sep_token=[SEP] cls_token=[CLS]", "stop_token=</s>", "audio_token: <|AUDIO|>", "image_token_id=151655", "video_token_id: 151656", "bos_token_id=128000, eos_token_id=[128001, 128009]", "decoder_start_token_id: 2", "special_tokens_map.json loaded", "added_tokens_decoder: 256 entries", "tokenizer_class: PreTrainedTokenizerFast", "tokenizer_mode=auto", "skip_tokenizer_init=False", "tokenizer_revision=None", "tokenizer=meta-llama/Llama-3.1-8B-Instruct", "mm_processor_kwargs=None", "max_tokens_per_doc=8192", "start_token: <|im_start|>", "think_end_token=</think>", "reasoning_parser='deepseek_r1'", "tool_call_parser=hermes", "enable_auto_tool_choice=True",
)  # fmt: skip
_HASHES = (
    "image: vllm/vllm-openai@sha256:{_h64}", "commit {_h40}", "build {_h7} of main", "digest: sha256:{_h64}", "etag: \"{_h32}\"", "md5={_h32} model-00001-of-00004.safetensors", "revision={_h40}", "code_revision={_h40}", "request_id=chatcmpl-{_h32}", "cmpl-{_h32}-0 finished", "traceparent: 00-{_h32}-{_h16}-01", "trace_id={_h32} span_id={_h16}", "uid: {_h8}-{_h4}-{_h4}-{_h4}-{_h12}", "resourceVersion: \"{_d9}\"", "pod-template-hash={_h10}", "controller-revision-hash: vllm-{_h10}", "containerd://{_h64}", "GPU-{_h8}-{_h4}-{_h4}-{_h4}-{_h12}", "MIG-{_h8}-{_h4}-{_h4}-{_h4}-{_h12}", "torch_compile_cache/{_h10}/rank_0_0/backbone", "/root/.cache/vllm/torch_compile_cache/{_h10}", "block hash {_h16}", "nonce_counter=4", "snapshot models--Qwen--Qwen3-8B/snapshots/{_h40}", "blobs/{_h64} is complete", "libcuda.so.1 (0x00007f{_h10})", "cgroup /kubepods.slice/kubepods-pod{_h8}_{_h4}_{_h4}_{_h4}_{_h12}.slice", "boot id {_h32}", "machine {_h32} joined",
)  # fmt: skip
_PROSE = (
    "the API key is required", "an invalid token was sent", "no password is set", "password authentication failed for user \"postgres\"", "Incorrect API key provided", "401 Unauthorized: Bearer token missing", "Authorization header is missing", "basic auth is disabled", "secret \"hf-token\" not found", "secrets \"regcred\" is forbidden: cannot get resource", "configmap \"keys\" not found", "MountVolume.SetUp failed for volume \"hf-token\"", "token expired at 2026-11-27T10:00:00Z", "cookie policy is strict", "session closed by peer", "session affinity: None", "key not found in cache", "KeyError: 'token'", "AttributeError: 'NoneType' object has no attribute 'password'", "unexpected keyword argument 'api_key'", "the following arguments are required: --api-key", "error: argument --hf-token: expected one argument", "unrecognized arguments: --auth", "Token indices sequence length is longer than the specified maximum", "waiting for the first token", "one token per step", "the key of the cache is the hash of the block", "private key was not found at /etc/ssl/tls.key", "using secret file /var/run/secrets/kubernetes.io/serviceaccount/token", "read the token from /run/secrets/hf", "password file /etc/redis/pass", "credentials provider chain is empty", "credential helper is not installed", "auth plugin gcp was removed", "the secret is mounted", "Signature mismatch between traced functions", "signature: (x: Tensor, y: Tensor) -> Tensor", "bearer plan selected", "passwordless login is on", "Sampling without tokens",
)  # fmt: skip
_SETTINGS = (
    "secretName: hf-token-secret", "secretKeyRef: {name: hf, key: token}", "imagePullSecrets: [regcred]", "serviceAccountName: key-reader", "automountServiceAccountToken: true", "api_key=None", "hf_token=None", "password=None", "auth: null", "token: false", "apiKey: \"\"", "HF_TOKEN=", "api_key=''", "ssl_keyfile=None", "ssl_certfile=/etc/tls/tls.crt", "ssl_keyfile=/etc/tls/tls.key", "api_key=***", "password=<redacted>", "password: [redacted]", "HF_TOKEN=$HF_TOKEN", "HF_TOKEN=${HF_TOKEN}", "token: $(HF_TOKEN)", "password: {{ .Values.password }}", "api_key_env=OPENAI_API_KEY", "tokenFile: /var/run/token", "password_file=/run/secrets/db", "topologyKey: topology.kubernetes.io/zone", "keyspace=default", "key_cache_dtype=fp8", "kv_cache_dtype=auto", "sort_keys=True", "primary_key=id", "foreign_key=run_id", "partition_key: model", "routing_key=tenant", "cache_key=model", "monkeypatch=True", "author=alice", "authority=10.0.0.1:8000", "authors: [a, b]", "tokenizer_pool_size=0", "passthrough=True", "passive=True", "compass=1", "secretary=bob", "keyboard=us", "sessionAffinity: ClientIP", "patch=1", "path=/v1/models", "pattern=abc",
)  # fmt: skip
_ENGINE = (
    "Started server process [17]", "Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)", "Route: /v1/chat/completions, Methods: POST", "Route: /tokenize, Methods: POST", "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER']", "Available KV cache memory: 54.11 GiB", "GPU KV cache size: 443,248 tokens", "Maximum concurrency for 32,768 tokens per request: 13.53x", "Chunked prefill is enabled with max_num_batched_tokens=8192.", "Engine 000: Avg prompt throughput: 512.3 tokens/s, Avg generation throughput: 88.1 tokens/s, Running: 12 reqs, Waiting: 3 reqs, GPU KV cache usage: 91.4%, Prefix cache hit rate: 22.0%", "Resolved architecture: Qwen3ForCausalLM", "non-default args: {'model': 'Qwen/Qwen3-8B', 'max_model_len': 32768, 'gpu_memory_utilization': 0.92}", "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%", "init engine (profile, create kv cache, warmup model) took 41.20 seconds", "Default sampling parameters have been overridden by the model's Hugging Face generation config", "Supported tasks: ['generate']", "rank 0 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 0", "Loading weights took 4.21 seconds", "Model loading took 15.27 GiB and 5.1 seconds", "NCCL version 2.27.3+cuda12.9", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "Failed to import lazy tool parser 'x' from y: No module named 'y'", "vLLM is using nccl==2.27.3", "Aborted request cmpl-{_h16}.", "POST /v1/completions HTTP/1.1 200 OK",
)  # fmt: skip
TABLE = {
    "pods": _NAMES_OF_PODS, "counts": _COUNTS, "tokenizer": _TOKENIZER, "hashes": _HASHES, "prose": _PROSE, "settings": _SETTINGS, "engine": _ENGINE,
}  # fmt: skip


def lines(seed: int = 20261129) -> list[tuple[str, str]]:
    """Return (class, text) of every line, its filler made from the seed."""
    dice = random.Random(seed)
    return [(kind, fill(kind, text, dice).text) for kind, texts in TABLE.items() for text in texts]
