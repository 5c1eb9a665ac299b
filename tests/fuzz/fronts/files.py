"""Files that a person names: limits, kubeconfig, a model's folder, traces, keys, configuration; and
the manifests of `check`.
"""

# ruff: noqa: E501 (inputs as they come)

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import tests.unit.io.kubernetes.client.test_kubeconfig as kubeconfigs
from tests.fuzz.front import Front, Wrong, text_of
from tests.fuzz.fronts.evidence import DATA

from barostat.core.errors import InputError, OutsideError
from barostat.gateway.messages.tenants import load_keys
from barostat.io.input_files import limits_file, model_files, requests_file, traces
from barostat.io.input_files.json_text import from_json
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.login import Credential, headers, tls
from barostat.io.kubernetes.client.login import _read as credential_of
from barostat.io.manifests.read import limits_complaints, read_file
from barostat.judge.manifest_check.check import check
from barostat.shells.cli.main import main

_LIMITS = b"""\
apiVersion: barostat.dev/v1alpha1
kind: ServingLimits
metadata: {name: chat}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: vllm}
  model: Qwen/Qwen3-8B
  engineVersion: "0.32.0"
  request: {maxInputTokens: 24576, maxOutputTokens: 2048, maxStreamSeconds: 300, onMissingOutputLimit: cap}
  engine:
    maxModelLen: 32768
    maxNumSeqs: 64
    gpuMemoryUtilization: 0.9
  capacity: {kvCacheTokens: 200000, blockSize: 16, headroomRatio: 0.1, measuredFrom: log}
  slo: {ttftP99Seconds: 2, itlP99Seconds: 0.05}
  edge: {kvTokenBudget: 180000, queueDeadlineSeconds: 10}
  tenants:
    - {name: a, share: 0.5, maxConcurrency: 10, tokensPerMinute: 100000}
  remedy: {autonomy: observe, floorReplicas: 1, maxReplicas: 4, changesPerHour: 2}
because:
  spec.engine.maxNumSeqs: what the pool holds
"""


_PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n").decode()


def at(name: str, data: bytes, folder: Path) -> Path:
    """The input as a file of that name."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def said(*words: str) -> tuple[int, str]:
    """Exit code and stdout of a verb, in this process.

    Errors: what it would have called a bug; Wrong for a code that is no answer, or for what acts on
    a terminal.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(words))
        except SystemExit as end:
            code = int(end.code or 0)
    if code not in (0, 1, 2, 3, 4, 5):
        raise Wrong(f"exit {code}")
    for text in (out.getvalue(), err.getvalue()):
        if any(
            (ord(char) < 0x20 and char not in "\n\t\r")
            or 0x7F <= ord(char) < 0xA0
            or char in "\u202e\u200b"
            for char in text
        ):
            raise Wrong("a character that acts was printed")
    if code == 2 and not (err.getvalue() + out.getvalue()).strip():
        raise Wrong("refused without a word")
    return code, out.getvalue()


def strict_json(text: str) -> None:
    """Nothing, for JSON as every reader reads it."""

    def refused(word: str) -> None:
        raise Wrong(f"{word} in JSON")

    if text.strip():
        json.loads(text, parse_constant=refused)


def _limits(data: bytes, folder: Path) -> None:
    path = at("limits.yaml", data, folder)
    limits = limits_file.load(path)
    again = limits_file.parse(limits_file.render(limits))
    if limits_file.as_document(again) != limits_file.as_document(limits):
        raise Wrong("limits that were written are not the limits that were read")


def _kubeconfig_seeds() -> list[bytes]:
    made = []
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"kubeconfig-seed-{os.getpid()}"
    users = (
        {"token": "t"}, {"username": "u", "password": "p"}, {"tokenFile": "token"}, {"client-certificate-data": _PEM, "client-key-data": _PEM},
        {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "args": ["a"], "env": [{"name": "A", "value": "b"}]}},
        {"token": "t", "as": "me", "as-groups": ["g"], "as-user-extra": {"k": ["v"]}},
    )  # fmt: skip
    for user in users:
        cluster = {
            "certificate-authority-data": _PEM,
            "proxy-url": "http://u:p@proxy:3128",
            "tls-server-name": "n",
        }
        made.append(kubeconfigs.written(path, user=user, cluster=cluster).read_bytes())
    path.unlink()
    return made


def _kubeconfig(data: bytes, folder: Path) -> None:
    access = find_access(str(at("config", data, folder)), None, {})
    if access.plugin is None and access.token_file is None:
        found = Credential(access.token, access.certificate, access.key)
        headers(access, found)
        if access.certificate or access.ca:
            tls(access, found)


def _credential(data: bytes, _: Path) -> None:
    credential_of(data, "the plugin")


def _models() -> list[bytes]:
    found = []
    for path in sorted(
        (DATA.parents[1] / "src" / "barostat" / "catalog" / "models").glob("*.jsonl")
    ):
        found += [
            json.dumps(json.loads(line)["config"]).encode()
            for line in path.read_text().splitlines()[::12]
        ]
    return found


def _model(data: bytes, folder: Path) -> None:
    path = at("config.json", data, folder)
    _, out = said("plan", "--model-config", str(path), "--gpu", "H100", "-o", "json")
    strict_json(out)


def _headers() -> list[bytes]:
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "w": {"dtype": "BF16", "shape": [4, 4], "data_offsets": [0, 32]},
        }
    ).encode()
    return [
        struct.pack("<Q", len(header)) + header + bytes(32),
        b'{"metadata": {"total_size": 16000000000}, "weight_map": {"w": "model.safetensors"}}',
    ]


def _weights(data: bytes, folder: Path) -> None:
    """A folder with a checkpoint: its files, and its index, are the stranger's."""
    model = folder / "model"
    at("model/config.json", b'{"architectures": ["LlamaForCausalLM"], "hidden_size": 64}', folder)
    at("model/model.safetensors", data, folder)
    at("model/model.safetensors.index.json", data, folder)
    found = model_files.open_model(str(model)).weights_bytes
    if found is not None and not 0 < found < 1 << 70:
        raise Wrong("weights of no size")


def _traces() -> list[bytes]:
    ours = b"".join(
        b'{"arrival_s": %d.5, "input_tokens": 100, "output_tokens": 20}\n' % n for n in range(8)
    )
    mooncake = b"".join(
        b'{"timestamp": %d000, "input_length": 1000, "output_length": 20, "hash_ids": [0, %d]}\n'
        % (n, n)
        for n in range(8)
    )
    azure = b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"".join(
        b"2023-11-16 18:15:%02d.6805900,4808,10\n" % n for n in range(8)
    )
    burst = b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,API log\n"
    return [ours, mooncake, azure, burst, b"arrival_s,input_tokens,output_tokens\n0,1,1\n1.5,2,3\n"]


def _trace(data: bytes, folder: Path) -> None:
    path = at("trace.jsonl" if data.lstrip()[:1] == b"{" else "trace.csv", data, folder)
    refused = []
    for read in (lambda: traces.read_trace(path), lambda: requests_file.read_requests(path, 16)):
        try:
            read()
        except InputError as error:
            refused.append(error)
    if len(refused) == 2:
        raise refused[0]


def _keys(data: bytes, folder: Path) -> None:
    load_keys(at("keys", data, folder))


def _json_text(data: bytes, _: Path) -> None:
    from_json(text_of(data), "file")


def _toml(data: bytes, folder: Path) -> None:
    """The configuration of a repository and of a person, as the verbs see it."""
    path = folder / "config" / "barostat" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    before = os.environ["XDG_CONFIG_HOME"]
    os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
    try:
        said("config", "show")
        said("explain", "kv-preemption-thrash")
    finally:
        os.environ["XDG_CONFIG_HOME"] = before


def _checked(*endings: str, every: int = 1) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        found = [path for path in sorted((DATA / "check").rglob("*")) if path.suffix in endings]
        return [path.read_bytes() for path in found[::every]]

    return seeds


def _manifest(name: str) -> Callable[[bytes, Path], None]:
    def feed(data: bytes, folder: Path) -> None:
        document = read_file(at(name, data, folder))
        found = check(
            [document], persona="pedant", complaints=limits_complaints, today="2026-11-24"
        )
        lines = document.text.count("\n") + 1
        for one in (*found.findings, *found.unread):
            if not (1 <= one.place.line <= lines and one.place.column >= 1):
                raise Wrong("a finding stands outside of its file")

    return feed


def _fixed(data: bytes, folder: Path) -> None:
    """`check --fix`, whole: what was YAML is YAML still."""
    path = at("fixed.yaml", data, folder)
    code, out = said("check", str(path), "-o", "json", "--exit-zero")
    strict_json(out)
    if code == 0:
        said("check", str(path), "--fix", "--unsafe")
        if said("check", str(path), "-o", "json", "--exit-zero")[0] != 0:
            raise Wrong("a fixed manifest cannot be read any more")


_VERB = (InputError, OutsideError)
FRONTS = (
    Front("limits", lambda: [_LIMITS, *(path.read_bytes() for path in sorted((DATA / "check").rglob("*limits*.yaml")))], _limits, "yaml"),
    Front("kubeconfig", _kubeconfig_seeds, _kubeconfig, "yaml"),
    Front("exec-plugin", lambda: [b'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t", "expirationTimestamp": "2026-11-24T00:00:00Z", "clientCertificateData": "c", "clientKeyData": "k"}}'], _credential, "json", _VERB),
    Front("model-config", _models, _model, "json"),
    Front("safetensors", _headers, _weights, "json"),
    Front("traces", _traces, _trace, "json"),
    Front("gateway-keys", lambda: [b"# keys\na: sk-1\nb: sk-2\n"], _keys, "lines"),
    Front("configuration", lambda: [b'gpu = "H100"\n[plan]\nmax-model-len = 8192\n[explain]\noutput = "json"\n'], _toml, "lines"),
    Front("check-yaml", _checked(".yaml", ".json", every=2), _manifest("manifest.yaml"), "yaml", (), ("vllm serve ", "--max-num-seqs", "--gpu-memory-utilization", "# barostat: allow ", "command:", "args:", "{{ .Values.x }}")),
    Front("check-text", _checked(".sh", ".service"), _manifest("unit.service"), "shell", (), ("[Service]\n", "ExecStart=", "ExecStop=", "Environment=", "vllm serve ", "docker run ")),
    Front("check-hcl", _checked(".tf", ".nomad"), _manifest("main.tf"), "shell", (), ('resource "', "<<-EOT\n", "image = ", "args = [", "concat(", "${var.x}", "vllm serve ")),
    Front("check-image", lambda: [(DATA / "check" / "forms" / "Dockerfile").read_bytes()], _manifest("Dockerfile"), "shell", (), ("FROM ", "ENTRYPOINT [", "CMD ", "ENV ", "\\\n", "vllm serve ")),
    Front("check-fix", _checked(".yaml", every=6), _fixed, "yaml"),
)  # fmt: skip
