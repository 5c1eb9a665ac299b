"""The command line reads to the same settings as the real vLLM's own parser reads it, and the
catalogue names what that parser has.
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from barostat.catalog.settings.defaults import default
from barostat.catalog.settings.other_arguments import REMOVED, SWITCHES
from barostat.catalog.settings.table import SETTINGS, canonical_name, known_flag, lacking
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".vllm" / "bin" / "python"
VERSION = "0.32.0"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (ROOT / ".vllm" / "READY").exists(), reason="make vllm has not been run"
    ),
]

VALUES: dict[str, list[str] | None] = {
    "max_num_seqs": ["4", "256", "+8"],
    "max_model_len": ["4k", "2K", "auto", "-1", "4096", "1.5k", "32_768"],
    "max_num_batched_tokens": ["2k", "8192"],
    "gpu_memory_utilization": ["0.9", ".5", "0.9_5"],
    "tensor_parallel_size": ["2"],
    "kv_cache_dtype": ["fp8", "auto"],
    "watermark": ["0.02"],
    "max_num_active_seqs": ["3"],
    "max_num_queued_reqs": ["100"],
    "kv_offloading_size": ["4"],
    "num_gpu_blocks_override": ["64"],
    "kv_cache_memory_bytes": ["25G", "1000000"],
    "api_server_count": ["2"],
    "port": ["8001"],
    "served_model_name": ["a b", "c"],
    "cudagraph_capture_sizes": ["1 2 4"],
    "enable_prefix_caching": None,
    "enable_chunked_prefill": None,
    "enforce_eager": None,
    "trust_remote_code": None,
    "headless": None,
    "disable_log_stats": None,
}
SHORT = {"tensor_parallel_size": "-tp", "api_server_count": "-asc"}


def _line(dice: random.Random) -> list[str]:
    """One command line as people write them: every spelling, in any order, some arguments twice."""
    args = ["org/m"]
    for name in dice.choices(list(VALUES), k=dice.randint(1, 6)):
        option = (
            SHORT[name]
            if name in SHORT and dice.random() < 0.4
            else "--" + (name if dice.random() < 0.4 else name.replace("_", "-"))
        )
        values = VALUES[name]
        if values is None:
            off = name not in ("headless", "disable_log_stats") and dice.random() < 0.4
            args.append(
                option.replace("--", "--no_" if "_" in option else "--no-", 1) if off else option
            )
            continue
        words = dice.choice(values).split()
        args += (
            [f"{option}={words[0]}"]
            if len(words) == 1 and option.startswith("--") and dice.random() < 0.5
            else [option, *words]
        )
    return args


def _ask(*arguments: str, text: str = "") -> list[Any]:
    """What the oracle prints, a JSON value per line that is one."""
    done = subprocess.run(
        [PYTHON, str(Path(__file__).parent / "oracle_arguments.py"), *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "["))]


def test_settings_are_what_the_parser_of_vllm_makes_of_them() -> None:
    dice = random.Random(20)
    lines = [_line(dice) for _ in range(400)]
    answers = _ask(text=json.dumps(lines))
    assert len(answers) == len(lines)
    assert sum("refused" in answer for answer in answers) == 0
    for args, answer in zip(lines, answers, strict=True):
        config = resolve(args=args, version=parse_version(VERSION))
        for name in VALUES:
            found = config.get(name)
            if found is not None and found.provenance == "flag":
                wanted = answer[name]
                assert found.value == (
                    " ".join(map(str, wanted)) if isinstance(wanted, list) else wanted
                ), (args, name)


# Resolved after parsing: by the platform, the model or the architecture.
RESOLVED_LATER = {
    "block_size",
    "enable_chunked_prefill",
    "async_scheduling",
    "enable_prefix_caching",
}


def test_the_defaults_of_the_table_are_those_of_vllm() -> None:
    (real,) = _ask("defaults")
    version = parse_version(VERSION)
    compared = 0
    for name, setting in SETTINGS.items():
        found = default(name, version)
        if found is None or setting.by_card or name in RESOLVED_LATER:
            continue
        assert found.value == real[name], name
        compared += 1
    assert compared > 20
    for name in RESOLVED_LATER:
        assert real.get(name) is None, name


def test_the_catalogue_knows_what_the_parser_of_vllm_has() -> None:
    (names,) = _ask("names")
    real = {dest: (options, switch) for dest, options, switch in names if options}
    version = parse_version(VERSION)
    assert version is not None
    for name, flag in SETTINGS.items():
        assert (known_flag(name, version) == "present") == (name in real), name
        if name in real:
            assert real[name][1] == (flag.kind == "bool"), name
    for options, name in ((options, dest) for dest, (options, _) in real.items() if dest != "help"):
        for option in options:
            if not option.startswith("--no-"):
                assert canonical_name(option) == name, option
    assert not {name for name in REMOVED if lacking(name, version) is not None and name in real}
    switches = {name for name, (_, switch) in real.items() if switch and name != "help"}
    assert {name for name in SWITCHES if name in real} <= switches
    assert not {name for name in switches if name not in SETTINGS and name not in SWITCHES}
