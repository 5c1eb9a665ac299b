"""BLIS (github.com/inference-sim/inference-sim) on the workloads of bench/twin.py.

    git clone https://github.com/inference-sim/inference-sim && (cd inference-sim && go build -o
    blis .) python bench/twin.py --blis inference-sim

It replays the same arrivals and lengths with the same blocks, slots and token budget. Its clock is
its own model of a card (Llama 3.1 8B on an H100), so its steps are not ours, and requests that it
gives up on after 300 s of that clock it does not finish: what is compared is the tokens produced
per second of the process's own time, less what it takes to start, which is measured on one row. Its
prefix cache wants tokens, which a trace of lengths does not have: caching loads are left out.
"""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from barostat.twin.request import Row
from barostat.twin.settings import Settings

MODEL = ("--model", "meta-llama/Llama-3.1-8B-Instruct", "--hardware", "H100", "--tp", "1")
COLUMNS = (
    "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,streaming,input_tokens,output_tokens,"
    "text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model,deadline_us,server_input_tokens,arrival_time_us,send_time_us,"
    "first_chunk_time_us,last_chunk_time_us,num_chunks,status,error_message,finish_reason"
)
HEADER = "trace_version: 3\ntime_unit: microseconds\nmode: generated\nwarm_up_requests: 0\n"


def blis(folder: Path, settings: Settings, rows: Sequence[Row]) -> tuple[int, float]:
    """Tokens that BLIS produced and its own seconds for them, start-up taken off. Errors:
    CalledProcessError, with what it said.
    """
    tokens, taken = _replay(folder, settings, rows)
    return tokens, max(1e-3, taken - _replay(folder, settings, rows[:1])[1])


def _replay(folder: Path, settings: Settings, rows: Sequence[Row]) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as made:
        header, data = Path(made) / "trace.yaml", Path(made) / "trace.csv"
        header.write_text(HEADER)
        data.write_text(
            "\n".join([COLUMNS, *(_line(index, row) for index, row in enumerate(rows))]) + "\n"
        )
        command = [
            str(folder / "blis"), "replay", *MODEL, "--trace-header", str(header), "--trace-data", str(data), "--log", "error",
            "--total-kv-blocks", str(settings.kv_blocks), "--max-num-seqs", str(settings.max_num_seqs),
            "--max-num-batched-tokens", str(settings.max_num_batched_tokens),
        ]  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout[done.stdout.index("{") : done.stdout.index("}") + 1])
    return told[
        "total_output_tokens"
    ], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _line(index: int, row: Row) -> str:
    at = round(row.arrival_s * 1e6)
    lengths = f"{row.input_tokens},{row.output_tokens}"
    return f"{index},,,,,0,,0,false,{lengths},0,0,0,0,0,,0,0,{at},{at},{at},{at},0,ok,,"
