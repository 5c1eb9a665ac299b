# ruff: noqa: E501  (an input a line)
"""The worst that a stranger can give each reader: many, deep, long, beyond the calendar. Each is
written to a folder; none is kept.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

DIGITS = "9" * 5_000
DEEP = "[" * 100_000
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))
FAR = "99999-13-45T99:99:99Z"
LONG = "x" * 5_000
SCRAPE = 'vllm:num_requests_running{engine="0",model_name="m"} 3.0\nvllm:num_requests_waiting{engine="0",model_name="m"} 0.0\n'
_LIMITS = "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec:\n  model: m\n"
_BUNDLE = "apiVersion: barostat.dev/v1alpha1\nkind: Bundle\nreplicas:\n- name: a\n"
_CONFIG = '{"num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 151936, "model_type": "qwen3"'


@dataclass(frozen=True, slots=True)
class Worst:
    """One input. `write` puts it into a folder and gives the command; `says`: what of its answer is
    looked for; `codes`: that may end it.

    `large`: it has a process of its own.
    """

    name: str
    write: Callable[[Path], list[str]]
    says: str = ""
    codes: tuple[int, ...] = (2,)
    large: bool = False


def _file(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def _bundle(folder: Path, files: Mapping[str, str | bytes]) -> list[str]:
    for name, text in {"metrics/a/1763713200.prom": SCRAPE, **files}.items():
        _file(folder, name, text)
    return ["diagnose", "--bundle", str(folder), "--no-trials"]


def _engines(folder: Path) -> list[str]:
    lines = "".join(
        f'vllm:num_requests_running{{engine="{place}",model_name="m"}} 3\n'
        for place in range(380_000)
    )
    return _bundle(folder, {"metrics/a/1763713200.prom": lines})


def _replicas(folder: Path) -> list[str]:
    return _bundle(folder, {"bundle.yaml": _BUNDLE} | {
        f"metrics/m{place}/1763713200.prom": SCRAPE for place in range(20_000)
    })  # fmt: skip


def _with_config(folder: Path, more: str) -> list[str]:
    return ["plan", "--model-config", _file(folder, "config.json", more), "--gpu", "H100"]


def _with_limits(folder: Path, text: str) -> list[str]:
    return ["limits", "validate", _file(folder, "limits.yaml", text)]


def _with_trace(folder: Path, text: str | bytes, name: str = "trace.jsonl") -> list[str]:
    return [
        "simulate",
        "--trace",
        _file(folder, name, text),
        "--kv-blocks",
        "1000",
        "--step-time",
        "0.01",
    ]


def _with_kubeconfig(folder: Path, text: str) -> list[str]:
    return ["diagnose", "deploy/x", "-n", "y", "--kubeconfig", _file(folder, "config", text)]


def _with_manifest(folder: Path, text: str) -> list[str]:
    return ["check", _file(folder, "deployment.yaml", text)]


def _pods(folder: Path, text: str) -> list[str]:
    return _bundle(folder, {"kubernetes/pods.json": text})


def _dated(value: str) -> str:
    status = {
        "containerStatuses": [
            {"name": "vllm", "lastState": {"terminated": {"exitCode": 137, "finishedAt": value}}}
        ]
    }
    return json.dumps(
        {
            "items": [
                {
                    "metadata": {"name": "a", "creationTimestamp": value},
                    "spec": {"containers": []},
                    "status": status,
                }
            ]
        }
    )


ANY = (0, 1, 2, 3)
READ = (0, 1, 3, 4)
WORST = (
    Worst("380,000 engines in a page of metrics", _engines, "engines", READ, large=True),
    Worst("20,000 replicas in a bundle", _replicas, "replicas: 19,501 were left out", READ, large=True),
    Worst("laughs in bundle.yaml", lambda folder: _bundle(folder, {"bundle.yaml": LAUGHS})),
    Worst("laughs in a limits file", lambda folder: _with_limits(folder, LAUGHS)),
    Worst("laughs in a kubeconfig", lambda folder: _with_kubeconfig(folder, LAUGHS), "aliases"),
    Worst("laughs in a manifest", lambda folder: _with_manifest(folder, LAUGHS), "", ANY),
    Worst("5,000 digits in bundle.yaml", lambda folder: _bundle(folder, {"bundle.yaml": f"{_BUNDLE}  exitCode: {DIGITS}\n"})),
    Worst("5,000 digits in a limits file", lambda folder: _with_limits(folder, f"{_LIMITS}  engine: {{maxNumSeqs: {DIGITS}}}\n")),
    Worst("5,000 digits in a kubeconfig", lambda folder: _with_kubeconfig(folder, f"a: {DIGITS}\n")),
    Worst("5,000 digits in config.json", lambda folder: _with_config(folder, f'{_CONFIG}, "num_key_value_heads": {DIGITS}}}')),
    Worst("5,000 digits in a trace", lambda folder: _with_trace(folder, f'{{"arrival_s": 0, "input_tokens": {DIGITS}, "output_tokens": 1}}\n')),
    Worst("5,000 digits of a flag", lambda _: ["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--max-num-seqs", DIGITS]),
    Worst("5,000 digits in pods", lambda folder: _pods(folder, DIGITS), "", READ),
    Worst("5,000 digits in a manifest", lambda folder: _with_manifest(folder, f"apiVersion: v1\nkind: Pod\nspec: {{n: {DIGITS}}}\n"), "", ANY),
    Worst("5,000 digits in metrics", lambda folder: _bundle(folder, {"metrics/a/1763713200.prom": f"{SCRAPE}vllm:x {DIGITS}\n"}), "", READ),
    Worst("deep JSON as config.json", lambda folder: _with_config(folder, DEEP)),
    Worst("deep JSON as a trace", lambda folder: _with_trace(folder, DEEP)),
    Worst("deep JSON as pods", lambda folder: _pods(folder, DEEP), "", READ),
    Worst("deep YAML as a limits file", lambda folder: _with_limits(folder, DEEP), "deep"),
    Worst("deep YAML as a kubeconfig", lambda folder: _with_kubeconfig(folder, DEEP), "deep"),
    Worst("deep YAML as a manifest", lambda folder: _with_manifest(folder, DEEP), "", ANY),
    Worst("a path too long as a bundle", lambda _: ["diagnose", "--bundle", LONG]),
    Worst("a path too long as limits", lambda _: ["limits", "validate", LONG]),
    Worst("a path too long as a config", lambda _: ["plan", "--model-config", LONG, "--gpu", "H100"]),
    Worst("a path too long as a trace", lambda _: ["simulate", "--trace", LONG, "--kv-blocks", "9", "--step-time", "0.01"]),
    Worst("a path too long as a manifest", lambda _: ["check", LONG]),
    Worst("a path too long as a kubeconfig", lambda _: ["diagnose", "deploy/x", "--kubeconfig", LONG]),
    Worst("a path too long as a log", lambda _: ["diagnose", "--log", LONG]),
    Worst("a date beyond the calendar in pods", lambda folder: _pods(folder, _dated(FAR)), "", READ),
    Worst("a date beyond the calendar in a flag", lambda _: ["report", "--prometheus", "http://127.0.0.1:9", "--from", FAR, "--to", "02:00"]),
    Worst("a date beyond the calendar in YAML", lambda folder: _with_limits(folder, f"{_LIMITS}  engineVersion: 2026-13-45\n"), "", ANY),
    Worst("a date beyond the calendar in a trace", lambda folder: _with_trace(folder, f"TIMESTAMP,ContextTokens,GeneratedTokens\n{FAR},1,1\n", "t.csv"), "", ANY),
    Worst("100,000 commas as a query of the cards", lambda folder: _bundle(folder, {"gpu/a/1763713200.nvidia-smi.csv": "index, name, " + "," * 100_000}), "more than 512 cells", READ),
    Worst("lines that are no cards", lambda folder: _bundle(folder, {"gpu/a/1763713200.nvidia-smi.csv": "a,b\n" * 500_000}), "", READ, large=True),
    Worst("16 MB as a query of the cards", lambda folder: _bundle(folder, {"gpu/a/1763713200.nvidia-smi.csv": "a," * 8_000_000}), "larger than 2 MiB", READ, large=True),
    Worst("five million empty pods", lambda folder: _pods(folder, '{"items":[' + "{}," * 5_000_000 + "{}]}"), "5,000,000 values", READ, large=True),
    Worst("two million empty pods", lambda folder: _pods(folder, '{"items":[' + "{}," * 2_000_000 + "{}]}"), "more than 20,000 objects", READ, large=True),
    Worst("64 MiB of one line as a log", lambda folder: _bundle(folder, {"logs/a.log": b"x" * (64 << 20)}), "", READ, large=True),
    Worst("a page of metrics in one line", lambda folder: _bundle(folder, {"metrics/a/1763713200.prom": SCRAPE + "a" * (22 << 20)}), "", READ, large=True),
    Worst("512 MiB of nothing, packed, as a trace", lambda folder: _with_trace(folder, gzip.compress(bytes(512 << 20), 1), "t.jsonl.gz"), large=True),
    Worst("200,000 keys in a manifest", lambda folder: _with_manifest(folder, "".join(f"k{i}: {i}\n" for i in range(200_000))), "", ANY, large=True),
    Worst("99,000 keys in a manifest", lambda folder: _with_manifest(folder, "".join(f"k{i}: {i}\n" for i in range(99_000))), "", ANY, large=True),
    Worst("a million documents in a manifest", lambda folder: _with_manifest(folder, "a\n---\n" * 1_000_000), "more than 200,000 values", ANY, large=True),
)  # fmt: skip
