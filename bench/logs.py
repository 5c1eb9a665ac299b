"""Reads a synthetic 200 MB vLLM log and says how fast and in how much memory, beside `grep -c -E`
over the same wordings in the same run.

    python bench/logs.py [--megabytes 200]

Budget: 200 MB in 10 s and 200 MB of memory. The log is what a busy server writes: access lines,
statistics lines, per-step lines, now and then a traceback, and two lives of the engine.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from barostat.engines.vllm.logs.digest import digest
from barostat.engines.vllm.logs.rules import RULES

START = [
    "(APIServer pid=1) INFO 11-20 08:00:00 [utils.py:233] vLLM API server version 0.14.0",
    (
        "(APIServer pid=1) INFO 11-20 08:00:00 [utils.py:233] non-default args: {'model': 'm', "
        "'max_num_seqs': 64, 'max_model_len': 8192}"
    ),
    (
        "(EngineCore_DP0 pid=9) INFO 11-20 08:00:09 [core.py:96] Initializing a V1 LLM engine "
        "(v0.14.0) with config: model='m', dtype=bf16"
    ),
    (
        "(EngineCore_DP0 pid=9) INFO 11-20 08:00:40 [kv_cache_utils.py:1305] GPU KV cache "
        "size: 175,856 tokens"
    ),
    "(APIServer pid=1) INFO:     Application startup complete.",
]
TRACEBACK = [
    "(EngineCore_DP0 pid=9) ERROR 11-20 {t} [core.py:842] Traceback (most recent call last):",
    *(
        (
            f"(EngineCore_DP0 pid=9) ERROR 11-20 {{t}} [core.py:842]   File "
            f'"/opt/vllm/v1/worker/file{i}.py", line {i}, in execute_model'
        )
        for i in range(20)
    ),
    "(EngineCore_DP0 pid=9) ERROR 11-20 {t} [core.py:842] RuntimeError: something of this request",
]


def synthetic(megabytes: int) -> Iterator[str]:
    """Lines of a busy server until so many megabytes have been written."""
    dice = random.Random(7)
    left = megabytes * 1_000_000
    second = 8 * 3600
    lives = 0
    while left > 0:
        if lives < 2 and left <= megabytes * 1_000_000 * (1 - 0.5 * lives):
            lives += 1
            batch = list(START)
        else:
            second = min(second + 10, 86_399)
            t = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
            load = f"Running: {dice.randrange(64)} reqs, Waiting: {dice.randrange(99)} reqs"
            tokens = (
                f"Avg prompt throughput: {dice.random() * 9000:.1f} tokens/s, Avg generation "
                f"throughput: {dice.random() * 900:.1f} tokens/s"
            )
            usage = f"GPU KV cache usage: {dice.random() * 100:.1f}%, Prefix cache hit rate: 20.3%"
            batch = [
                (
                    f"(APIServer pid=1) INFO 11-20 {t} [loggers.py:257] Engine 000: {tokens}, "
                    f"{load}, {usage}"
                )
            ]
            for i in range(40):
                client = f"10.0.{i}.{dice.randrange(255)}:{dice.randrange(60000)}"
                batch.append(
                    f'(APIServer pid=1) INFO:     {client} - "POST /v1/chat/completions '
                    'HTTP/1.1" 200 OK'
                )
                if i % 10 == 0:
                    batch.append(
                        f'(APIServer pid=1) INFO:     {client} - "GET /health HTTP/1.1" 200 OK'
                    )
                if i % 4 == 0:
                    request = f"chatcmpl-{dice.getrandbits(128):032x}"
                    batch.append(
                        f"(APIServer pid=1) INFO 11-20 {t} [async_llm.py:270] Added "
                        f"request {request}."
                    )
                if i % 8 == 0:
                    batch.append(
                        f"(EngineCore_DP0 pid=9) INFO 11-20 {t} [loggers.py:301] "
                        f"Iteration({second + i}): 1 context requests, "
                        f"{dice.randrange(2048)} context tokens, {dice.randrange(64)} "
                        f"generation requests, {dice.randrange(64)} "
                        "generation tokens, iteration elapsed time: 21.50 ms, GPU KV cache "
                        "usage: 50.1%"
                    )
            if dice.random() < 0.05:
                batch += [line.replace("{t}", t) for line in TRACEBACK]
        for line in batch:
            left -= len(line) + 1
            yield line


def main() -> int:
    """Write the log, time both readers, print one row each."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("--megabytes", type=int, default=200)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "engine.log"
        with path.open("w") as out:
            out.writelines(line + "\n" for line in synthetic(asked.megabytes))
        size_mb = path.stat().st_size / 1e6
        began = time.perf_counter()
        with path.open(encoding="utf-8", errors="replace") as lines:
            found = digest(lines, source="engine.log")
        ours_s = time.perf_counter() - began
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        wordings = "|".join(
            dict.fromkeys(
                hint
                for rule in RULES
                for hint in rule.hints
                if hint.isascii() and hint.replace(" ", "").isalnum()
            )
        )
        began = time.perf_counter()
        subprocess.run(
            ["grep", "-c", "-E", wordings, str(path)], check=False, stdout=subprocess.PIPE
        )
        grep_s = time.perf_counter() - began
    print(
        f"digest     {size_mb / ours_s:8.1f} MB/s  {ours_s:6.2f} s  peak {peak_mb:.0f} MB  "
        f"({found.lines} lines, {found.lives} lives)"
    )
    print(
        f"grep -c -E {size_mb / grep_s:8.1f} MB/s  {grep_s:6.2f} s  (lines that hold a "
        "hint: counts only)"
    )
    print(f"ratio      {ours_s / grep_s:8.1f} x grep's time")
    kept = ours_s * 200 / size_mb <= 10 and peak_mb <= 200
    print("budget     " + ("kept" if kept else "missed") + ": 200 MB in 10 s, 200 MB of memory")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
