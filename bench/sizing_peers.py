"""What other planners answer to the rows of bench/sizing.py, each in an environment of their own.

    python bench/sizing.py CASES.jsonl --configs DIR --out FILE.jsonl --peers

The environment lies in the cache folder (as the real vLLM's does) and is made on first use out of
PyPI; `--peers-python` names another. No network and no weights while they answer: what a peer would
take from a model hub is given to it (our count of the weights' bytes for llm-d-planner), what it
cannot do without is said. This file is also the script that runs inside that environment: it
imports nothing of barostat.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

PEERS = {
    "llm-d-planner": "llm-d-planner[estimation]==0.3.3",
    "hf-mem": "hf-mem==0.5.6",
    "aiconfigurator": "aiconfigurator==0.12.0",
}
HOW = {
    "llm-d-planner": "given our count of the weights' bytes: it asks a model hub for them",
    "hf-mem": "has KV arithmetic but no pool: part 1 only",
    "aiconfigurator": (
        "its vLLM memory model where it knows model and card, its fallback of 80 % after "
        "weights elsewhere"
    ),
}
GIB = 2**30
_INSTALL_S, _ANSWER_S = 900, 240

# Cards for which aiconfigurator has measurements; the others are a name that it does not know.
_SYSTEMS = {
    "H100-SXM5-80GB": "h100_sxm", "H100-PCIe-80GB": "h100_pcie", "H200-SXM-141GB": "h200_sxm", "A100-SXM4-80GB": "a100_sxm",
    "A100-PCIe-80GB": "a100_pcie", "L4": "l4", "L40S": "l40s", "B200": "b200_sxm", "GB200": "gb200",
}  # fmt: skip


def environment() -> tuple[Path, dict[str, str]]:
    """The interpreter of the peers' environment, and for each peer that did not install the
    reason.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    base = Path(os.environ.get("BAROSTAT_CACHE", cache / "barostat"))
    folder = base / ("peers-" + "-".join(spec.rpartition("=")[2] for spec in PEERS.values()))
    python, record = folder / "bin" / "python", folder / "INSTALLED.json"
    if record.exists():
        found: dict[str, str] = json.loads(record.read_text())
        return python, found
    venv.create(folder, with_pip=True)
    missing = {}
    for name, spec in PEERS.items():
        try:
            done = subprocess.run(
                [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", spec],
                capture_output=True, text=True, timeout=_INSTALL_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            missing[name] = f"does not install within {_INSTALL_S} s"
            continue
        if done.returncode:
            missing[name] = (
                "does not install: "
                + (done.stderr.strip().splitlines() or ["no reason given"])[-1][:160]
            )
    record.write_text(json.dumps(missing))
    return python, missing


def ask(questions: list[dict[str, Any]], python: Path | None) -> dict[str, dict[str, Any]]:
    """Each peer's answers: name -> {"note": text, "answers": {row id: {"available_gib", "tokens",
    "concurrency"}}}.
    """
    missing: dict[str, str] = {}
    try:
        if python is None:
            python, missing = environment()
        done = subprocess.run(
            [str(python), str(Path(__file__).resolve())], input=json.dumps(questions), capture_output=True, text=True, timeout=_ANSWER_S,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}, check=False,
        )  # fmt: skip
        line = next((line for line in done.stdout.splitlines() if line.startswith("PEERS ")), None)
        problem = (
            ""
            if line is not None
            else "the environment does not run: "
            + (done.stderr.strip().splitlines() or ["silent"])[-1][:160]
        )
    except (OSError, subprocess.SubprocessError) as error:
        line, problem = None, f"the environment does not run: {error}"
    found: dict[str, dict[str, Any]] = (
        json.loads(line.removeprefix("PEERS ")) if line is not None else {}
    )
    for name in PEERS:
        given = found.setdefault(name, {"note": problem, "answers": {}})
        given["note"] = missing.get(name) or given["note"] or HOW[name]
    return found


def _config_object(folder: Path, decoded: dict[str, Any]) -> Any:
    """The configuration as transformers reads it, or as plain attributes where it does not know the
    model.
    """
    from transformers import AutoConfig  # type: ignore[import-not-found, unused-ignore]

    try:
        return AutoConfig.from_pretrained(str(folder))
    except Exception:

        def attributes(value: Any) -> Any:
            return (
                SimpleNamespace(**{key: attributes(item) for key, item in value.items()})
                if isinstance(value, dict)
                else value
            )

        return attributes(decoded)


def _llm_d_planner(question: dict[str, Any], folder: Path) -> dict[str, Any]:
    from planner import capacity_planner  # type: ignore[import-not-found, unused-ignore]

    capacity_planner.model_memory_req = lambda *_, **__: question["weightsGib"]
    config, gpus = _config_object(folder, question["config"]), question["tp"] * question["pp"]
    answer: dict[str, Any] = {}
    if question["memoryGib"]:
        whole = capacity_planner.allocatable_kv_cache_memory(
            question["model"],
            config,
            question["memoryGib"],
            question["utilization"],
            question["tp"],
            question["pp"],
        )
        answer["available_gib"] = whole / gpus
    if question["availableGib"]:
        per_token = capacity_planner.KVCacheDetail(
            question["model"], config, 1, 1
        ).per_token_memory_bytes
        answer["tokens"] = question["availableGib"] * GIB * gpus / per_token
    return answer


def _hf_mem(question: dict[str, Any], _: Path) -> dict[str, Any]:
    from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size  # type: ignore[import-not-found, unused-ignore]

    if not question["availableGib"]:
        return {}
    config = question["config"].get("text_config") or question["config"]
    dtype = "F8_E4M3" if "8" in question["kvDtype"] else "BF16"
    size = compute_safetensors_kv_cache_size(config, dtype, question["length"])
    return {
        "tokens": question["availableGib"]
        * GIB
        * question["tp"]
        * question["pp"]
        / size
        * question["length"]
    }


def _aiconfigurator(question: dict[str, Any], folder: Path) -> dict[str, Any]:
    from aiconfigurator_core.sdk.memory import estimate_kv_cache  # type: ignore[import-not-found, unused-ignore]

    found = estimate_kv_cache(
        str(folder), _SYSTEMS.get(question["card"], "unknown"), "vllm", max_num_tokens=question["budget"], max_batch_size=question["seqs"],
        memory_fraction_kind="of_total", memory_fraction_value=question["utilization"], tp_size=question["tp"], pp_size=question["pp"],
        gpu_memory_capacity_bytes_override=int((question["memoryGib"] or 80) * GIB), allow_naive_fallback=True,
    )  # fmt: skip
    answer: dict[str, Any] = (
        {"available_gib": found["total_kv_size_bytes"] / GIB} if question["memoryGib"] else {}
    )
    if question["availableGib"] and found["kv_size_per_token_bytes"]:
        answer["tokens"] = question["availableGib"] * GIB / found["kv_size_per_token_bytes"]
    return answer


def _answers() -> dict[str, dict[str, Any]]:
    """Every peer asked for every row; a row that a peer refuses has no answer from it."""
    questions = json.load(sys.stdin)
    peers = {"llm-d-planner": _llm_d_planner, "hf-mem": _hf_mem, "aiconfigurator": _aiconfigurator}
    found: dict[str, dict[str, Any]] = {name: {"note": "", "answers": {}} for name in peers}
    for question in questions:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "config.json").write_text(json.dumps(question["config"]))
            for peer, asked in peers.items():
                try:
                    answer = asked(question, folder)
                except ImportError as error:
                    found[peer]["note"] = f"does not import: {error}"
                    continue
                except Exception as error:
                    found[peer].setdefault("refused", {})[question["id"]] = (
                        f"{type(error).__name__}: {error}"[:200]
                    )
                    continue
                if "tokens" in answer:
                    answer["concurrency"] = answer["tokens"] / question["length"]
                found[peer]["answers"][question["id"]] = answer
    return found


if __name__ == "__main__":
    print("PEERS " + json.dumps(_answers()))
