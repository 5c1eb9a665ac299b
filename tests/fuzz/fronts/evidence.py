"""What is gathered or sent along: bundles, pages of metrics, logs, vendor tools, the cluster's
documents. A reader of these never fails.
"""

# ruff: noqa: E501 (inputs as they come)

from __future__ import annotations

import json
from pathlib import Path

from tests.fuzz.archives import archive_of
from tests.fuzz.front import Front, Wrong, text_of
from tests.support.remedy_dialogue import a_plan
from tests.unit.gpus.test_dcgm import TEXT as DCGM
from tests.unit.gpus.test_nvidia import RUNBOOK
from tests.unit.gpus.test_nvidia_table import NEW, OLD
from tests.unit.platform.test_access_log import LINES as ACCESS_LINES
from tests.unit.remedy.test_plan import recorded_states

from barostat import gpus
from barostat.core.errors import InputError
from barostat.core.redaction.credentials import clean
from barostat.core.visible import visible
from barostat.engines.vllm.logs import digest as vllm_log
from barostat.engines.vllm.metrics import exposition, signals
from barostat.gpus import kernel_log
from barostat.io.bundles import bundle, manifest
from barostat.io.input_files.lines import NotText, lines
from barostat.io.redaction import kubernetes as kubernetes_redaction
from barostat.io.redaction.text import access_lines, log_lines
from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.platform import access_log, kubernetes
from barostat.platform.gateway_page import GatewayPage, gateway_signals
from barostat.remedy.record import from_json, to_json
from barostat.remedy.state import State

DATA = Path(__file__).resolve().parents[2] / "data"
_AT = 1_795_252_969.0


def _archives() -> list[bytes]:
    few = ("kv-preemption-thrash", "kv-pool-too-small", "bad-config-argument")
    folders = [DATA / "bundles" / name for name in few] + [
        DATA / "clusters" / "scaling-lag-pending"
    ]
    return [archive_of(folder, 6_000) for folder in folders]


def _archive(data: bytes, folder: Path) -> None:
    path = folder / "incident.tar.gz"
    path.write_bytes(data)
    examine(bundle.read(path))


def _manifests() -> list[bytes]:
    return [path.read_bytes() for path in sorted(DATA.glob("*/*/bundle.yaml"))[::5]]


def _manifest(data: bytes, _: Path) -> None:
    manifest.parse(text_of(data), "bundle.yaml")


def _pages() -> list[bytes]:
    pages = [path.read_bytes() for path in sorted((DATA / "expositions").glob("*.prom"))]
    return [*pages, *(b"\n".join(page.splitlines()[:60]) + b"\n" for page in pages[::3])]


def _page(data: bytes, _: Path) -> None:
    text = text_of(data)
    half = len(text) // 2
    found = [
        (_AT + 5.0 * place, exposition.read(part), "page")
        for place, part in enumerate((text[:half], text))
    ]
    signals.digest(found)
    gateway_signals([GatewayPage(_AT, text[:half], "g"), GatewayPage(_AT + 5, text, "g")])


def _logs() -> list[bytes]:
    found = sorted((DATA / "bundles").glob("*/logs/*.log")) + sorted(
        (DATA / "clusters").glob("*/logs/*.log")
    )
    return [path.read_bytes()[-6_000:] for path in found[::3]] + [
        path.read_bytes()[:6_000] for path in found[::4]
    ]


def _log(data: bytes, folder: Path) -> None:
    path = folder / "vllm.log"
    path.write_bytes(data)
    with path.open("rb") as file:
        found = vllm_log.digest(lines(file), source="vllm.log")
    examine(Recording("t", _AT, (ReplicaRecording("r", log=found),)))


def _kernel(data: bytes, _: Path) -> None:
    kernel_log.digest(text_of(data).splitlines(), source="dmesg").signals(_AT)


def _access(data: bytes, _: Path) -> None:
    access_log.digest(text_of(data).splitlines(), source="access.log").signals(_AT)
    list(access_lines(text_of(data).splitlines()))


def _tool(data: bytes, _: Path) -> None:
    kind, _end, text = text_of(data).partition("\n")
    for known in gpus.KINDS if kind not in gpus.KINDS else (kind,):
        gpus.read(known, text, "vllm-0")


def _tools() -> list[bytes]:
    amd = json.dumps(
        [
            {
                "gpu": 0,
                "usage": {"gfx_activity": {"value": 90, "unit": "%"}},
                "mem_usage": {"total_vram": {"value": 1, "unit": "MB"}},
            }
        ]
    )
    rocm = json.dumps(
        {
            "card0": {
                "GPU use (%)": "0",
                "VRAM Total Memory (B)": "68702699520",
                "VRAM Total Used Memory (B)": "10960896",
            }
        }
    )
    texts = {
        "nvidia-smi.csv": (RUNBOOK,),
        "nvidia-smi.txt": (NEW, OLD),
        "dcgm.prom": (DCGM,),
        "amd-smi.json": (amd,),
        "rocm-smi.json": (rocm,),
    }
    return [f"{kind}\n{text}".encode() for kind, several in texts.items() for text in several]


def _documents() -> list[bytes]:
    found = []
    for folder in sorted((DATA / "clusters").iterdir()):
        documents = {
            path.stem: json.loads(path.read_text())
            for path in sorted((folder / "kubernetes").glob("*.json"))
        }
        found.append(json.dumps(documents).encode())
    return found


def _cluster(data: bytes, _: Path) -> None:
    try:
        documents = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("the client decodes, and says so") from None
    if not isinstance(documents, dict):
        raise InputError("the client hands on objects")
    kubernetes_redaction.document(documents)
    first = (
        (documents.get("pods") or {}).get("items")
        if isinstance(documents.get("pods"), dict)
        else None
    )
    names = [
        item.get("metadata", {}).get("name")
        for item in (first if isinstance(first, list) else [])[:2]
        if _has_name(item)
    ]
    for name in ["absent", *filter(lambda name: isinstance(name, str), names)]:
        kubernetes.signals(documents, name, _AT)
    examine(
        Recording(
            "t",
            _AT,
            tuple(
                ReplicaRecording(str(name)) for name in dict.fromkeys(["absent", *map(str, names)])
            ),
            kubernetes=documents,
        )
    )


def _has_name(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("metadata"), dict)


def _redacted(data: bytes, _: Path) -> None:
    text = text_of(data)
    clean(text)
    list(log_lines(text.splitlines()))
    shown = visible(text)
    if visible(shown) != shown:
        raise Wrong("what was made visible holds something that acts")


_SECRETS = b"""\
export OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789
curl -u user:pa55word https://user:p%40ss@host:8443/path?key=abcdef&token=xyz -H 'Authorization: Bearer eyJhbGciOi.eyJzdWIiOi.c2ln'
API key provided: hf_abcdefghijklmnopqrstuvwxyzABCDEFGH, password hunter22 --api-key=secret-key --hf-token hf_xyz
-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDD
-----END PRIVATE KEY-----
INFO 06-18 12:00:00 [logger.py:42] Received request cmpl-1: prompt: 'tell me a secret', params: SamplingParams(n=1), prompt_token_ids: [1, 2]
"""


def _incidents() -> list[bytes]:
    return [to_json(state).encode() for state in recorded_states()[::8]] + [
        to_json(State(a_plan("edge-only"))).encode()
    ]


def _incident(data: bytes, _: Path) -> None:
    from_json(text_of(data))


FRONTS = (
    Front("bundle", _archives, _archive, "tar"),
    Front("bundle-manifest", _manifests, _manifest, "yaml"),
    Front("metrics", _pages, _page, "lines", (), ("vllm:num_preemptions_total", "_bucket", 'le="', "# TYPE ", "# HELP ", "# EOF\n", 'engine="', " 1e400", " # {}", "\\", "{", "}", ",")),
    Front("vllm-log", _logs, _log, "lines", (NotText,), ("(EngineCore pid=1) ", "ERROR ", "Traceback (most recent call last):\n", "torch.OutOfMemoryError: ", "non-default args: {", "GPU KV cache size: ", " tokens")),
    Front("kernel-log", lambda: [b"[12.5] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n[13.1] Out of memory: Killed process 7 (vllm)\n2026-11-18T12:00:00+00:00 n kernel: amdgpu: ring gfx timeout\n"], _kernel, "lines", ()),
    Front("access-log", lambda: [line.encode() for line, _ in ACCESS_LINES.values()], _access, "lines", ()),
    Front("gpu-tools", _tools, _tool, "lines", ()),
    Front("cluster-documents", _documents, _cluster, "json"),
    Front("redaction", lambda: [_SECRETS, *_logs()[:4]], _redacted, "lines", (), ("password", "token=", "://", "@", "api_key", "Bearer ", "-----BEGIN ", "sk-", "AKIA", "prompt: '", "\\", '"')),
    Front("incident-record", _incidents, _incident, "json"),
)  # fmt: skip
