"""What the start-up lines say about the engine's configuration and pool, of every version."""

from __future__ import annotations

import ast
import re

from barostat.catalog.settings.table import SETTINGS
from barostat.catalog.slow_settings import EXCHANGE, RESOLVED_ATTENTION, SOCKETS
from barostat.core.config import ConfigScalar
from barostat.core.redaction.credentials import secret_name

Settings = dict[str, ConfigScalar]

_POOL = re.compile(r"KV cache size: (?P<tokens>[\d,]+) tokens")
_CONCURRENCY = re.compile(
    r"Maximum concurrency for [\d,]+ tokens per request: (?P<concurrency>[\d.]+)x"
)
_AVAILABLE = re.compile(
    r"Available KV cache memory: (?P<gib>-?[\d.]+) Gi?B|reserved for KV Cache is (?P<v0>-?[\d.]+) ?Gi?B"
)
_BLOCKS = re.compile(
    r"# (?:GPU|CUDA|cuda|CPU|rocm|ROCm|HIP|hip|xpu|XPU|hpu|tpu|neuron) blocks: (?P<blocks>\d+)|num_gpu_blocks is: (?P<late>\d+)"
)
_WEIGHTS = re.compile(r"(?:Model loading|Loading model weights) took (?P<gib>[\d.]+) Gi?B")
_GRAPHS = re.compile(
    r"Graph capturing finished in \d+ secs?, took (?P<gib>-?[\d.]+) Gi?B|CUDA graph pool memory: (?P<actual>-?[\d.]+) GiB \(actual\)"
)
_DEVICE = re.compile(r"Free memory on device(?: \S+)? \([\d.]+/(?P<gib>[\d.]+) GiB\)")
_VERSION = re.compile(
    r"(?:vLLM (?:API |batch processing API )?(?:server )?version v?|LLM engine \(v|█.*\bversion )(?P<version>\d+\.\d+[\w.+-]*)"
)
_ATTENTION = re.compile(
    r"Using (?:AttentionBackendEnum\.)?(?P<name>XFORMERS|XFormers|TORCH_SDPA|Torch SDPA|FLEX_ATTENTION|FlexAttention|TRITON_(?:ATTN|MLA)"
    r"\w*|Triton(?: MLA)?|FLASH_ATTN\w*|Flash ?Attention(?:-\d)?|FLASHINFER\w*|FlashInfer(?: MLA)?|FLASHMLA\w*|FlashMLA|CUTLASS_MLA"
    r"|Cutlass MLA) (?:[Aa]ttention )?backend(?=\.| on V1| out of)"
)
_PROFILED = re.compile(r"profiled with \d+ (?P<kind>image|video|audio) items? of the maximum")
_EXCHANGE = re.compile(
    r"Custom allreduce is disabled because (?:this process group (?P<nodes>spans across nodes)|it's (?P<slots>not supported on more than "
    r"two PCIe-only)|your (?P<host>platform lacks GPU P2P))|CCL INFO Channel .{0,80}? via (?P<tcp>NET/Socket)"
)
_OVER = {
    "nodes": "the link between nodes",
    "slots": "PCIe",
    "host": "PCIe, through the host's memory",
    "tcp": SOCKETS,
}
_ARGS = re.compile(r"non-default args: (?P<args>\{.*)|\bargs: Namespace\((?P<namespace>.*)")
_SCALAR = re.compile(
    r"['\"]?\b([a-z][a-z0-9_]*)['\"]?[=:] ?('[^']*'|\"[^\"]*\"|-?\d[\d.]*(?:e-?\d+)?|True|False|[A-Za-z_][\w.]*)(?=[,)}\s]|$)"
)
_CONFIG = re.compile(r"with config: (?P<config>.*)")

# Names in the line of resolved settings, and those that it has for other settings.
_LOG_NAMES = {name: setting.name for setting in SETTINGS.values() for name in setting.log_names}
_OF_SETTINGS = tuple(
    (re.compile(pattern), setting) for setting in SETTINGS.values() for pattern in setting.log
)
_NOT_SHOWN = re.compile(r"key|header|ssl|cert|prompt|template")

OF_SETTINGS = (
    "nitializing", "args: ", "version", "cache", "concurrency", " backend", "llreduce", "CCL INFO", "profiled with", "TRACE_FUNCTION",
    " took ", "block", "Free memory", "utilization", "max_", "max ", "apturing", "CUDA graph",
)  # fmt: skip
"""Every start-up line with a setting contains one of these."""


def start_line(text: str) -> int | None:
    """Which of a new server's first lines this is: 0 the version banner, 1 the arguments, 2 the
    configuration; None for any other.
    """
    if "Initializing a" in text and " engine" in text and "with config" in text:
        return 2
    if "non-default args" in text or "args: Namespace(" in text:
        return 1
    if "version" in text and _VERSION.search(text):
        return 0
    return None


def settings_in(text: str) -> Settings:
    """Every setting that a start-up line tells, by vLLM's own name. Empty for any other line.

    Units: `*_gib` GiB, `kv_cache_size_tokens` and `max_model_len` tokens. Keys beyond vLLM's
    arguments: version, kv_cache_size_tokens, kv_cache_max_concurrency,
    available_kv_cache_memory_gib, model_memory_gib, graph_memory_gib, device_memory_gib (of one
    card), num_gpu_blocks, profiled_item (its kind), ranks_exchange_over,
    resolved_attention_backend.
    Source: vLLM 0.2 to 0.33, the lines that worker, kv_cache_utils, scheduler and arg_utils print
    while starting.
    """
    found: Settings = {}
    if (first := start_line(text)) is not None:
        if version := _VERSION.search(text):
            found["version"] = version["version"].rstrip(".,)")
        if first == 1 and (args := _ARGS.search(text)):
            found.update(_from_args(args["args"], args["namespace"]))
        if first == 2 and (config := _CONFIG.search(text)):
            resolved = set(_LOG_NAMES.values())
            found.update(
                (name, value)
                for name, value in _scalars(config["config"]).items()
                if name in resolved
            )
        return found
    if "KV cache size" in text and (pool := _POOL.search(text)):
        _put_int(found, "kv_cache_size_tokens", pool["tokens"])
    if "concurrency" in text and (most := _CONCURRENCY.search(text)):
        _put_float(found, "kv_cache_max_concurrency", most["concurrency"])
    if " backend" in text and "mxfp4" not in text and (hit := _ATTENTION.search(text)):
        found[RESOLVED_ATTENTION] = hit["name"]
    if ("allreduce is disabled" in text or "CCL INFO" in text) and (hit := _EXCHANGE.search(text)):
        found[EXCHANGE] = next(_OVER[name] for name, said in hit.groupdict().items() if said)
    if "profiled with" in text and (hit := _PROFILED.search(text)):
        found["profiled_item"] = hit["kind"]
    if "VLLM_TRACE_FUNCTION is enabled" in text:
        found["VLLM_TRACE_FUNCTION"] = True
    for pattern, name in (
        (_AVAILABLE, "available_kv_cache_memory_gib"),
        (_WEIGHTS, "model_memory_gib"),
        (_GRAPHS, "graph_memory_gib"),
        (_DEVICE, "device_memory_gib"),
    ):
        if hit := pattern.search(text):
            _put_float(found, name, next(group for group in hit.groups() if group))
    if hit := _BLOCKS.search(text):
        _put_int(found, "num_gpu_blocks", next(group for group in hit.groups() if group))
    for pattern, setting in _OF_SETTINGS:
        if hit := pattern.search(text):
            put = _put_float if setting.kind == "float" else _put_int
            put(found, setting.name, hit[1])
    return found


def _kept_back(name: str) -> bool:
    """True for an argument whose value is a credential, or a text that says nothing of the load."""
    return secret_name(name) or _NOT_SHOWN.search(name) is not None


def _from_args(written: str | None, namespace: str | None) -> Settings:
    if written:
        try:
            parsed = ast.literal_eval(written.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            parsed = None
        if isinstance(parsed, dict):
            return {
                _LOG_NAMES.get(name, name): value
                for name, value in parsed.items()
                if isinstance(name, str)
                and isinstance(value, int | float | str)
                and not _kept_back(name)
                and len(str(value)) <= 200
            }
    return {
        name: value
        for name, value in _scalars(written or namespace or "").items()
        if not _kept_back(name)
    }


def _scalars(text: str) -> Settings:
    """name=value and 'name': value pairs of a repr, outermost level only; None and nested values
    left out.
    """
    flat, depth = [], -1 if text[:1] == "{" else 0
    for part in re.split(r"([\[\](){}])", text):
        if part in ("[", "(", "{"):
            depth += 1
        elif part in ("]", ")", "}"):
            depth -= 1
        elif depth <= 0:
            flat.append(part)
    found: Settings = {}
    for name, value in _SCALAR.findall(" ".join(flat) + ","):
        name = _LOG_NAMES.get(name, name)
        if value[0] in "'\"":
            found[name] = value[1:-1][:200]
        elif value in ("True", "False"):
            found[name] = value == "True"
        elif value != "None" and value[0].isalpha():
            found[name] = value[:200]
        elif "." in value or "e" in value:
            _put_float(found, name, value)
        else:
            _put_int(found, name, value)
    found.pop("None", None)
    return {name: value for name, value in found.items() if value != "None"}


def _put_int(found: Settings, name: str, text: str) -> None:
    try:
        found[name] = int(text.replace(",", ""))
    except ValueError:
        return


def _put_float(found: Settings, name: str, text: str) -> None:
    try:
        found[name] = float(text.rstrip("."))
    except ValueError:
        return
