"""Runs inside the environment of the real vLLM: its own choice of a data-parallel rank, without
engines and sockets.

Reads one JSON case per line on stdin: {"ranks", "servers", "server", "moves"}; a move is
["choose", request, pinned rank or null], ["finish", request] or ["told", [[waiting, running, usage],
...]]. Writes one JSON line per case: the ranks chosen, in order.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

from vllm.v1.engine.core_client import DPLBAsyncMPClient


def chosen(case: dict[str, Any]) -> list[int]:
    """The rank of each request."""
    engines = [bytes([rank]) for rank in range(case["ranks"])]
    client: Any = object.__new__(DPLBAsyncMPClient)
    client.client_count, client.client_index = case["servers"], case["server"]
    client.reqs_in_flight, client.engine_inflight = {}, Counter()
    client.core_engines = engines
    client.lb_engines = [[0, 0, 0.0] for _ in engines]
    client.eng_start_index = (len(engines) * case["server"]) // case["servers"]
    found = []
    for kind, *rest in case["moves"]:
        if kind == "choose":
            request = SimpleNamespace(
                request_id=rest[0], data_parallel_rank=rest[1], pooling_params=None
            )
            found.append(engines.index(client.get_core_engine_for_request(request)))
        elif kind == "finish":
            outputs = SimpleNamespace(finished_requests={rest[0]})
            asyncio.run(DPLBAsyncMPClient.process_engine_outputs(client, outputs))
        else:
            client.lb_engines = [list(counts) for counts in rest[0]]
    return found


def main() -> None:
    """One line out for each line in."""
    for line in sys.stdin:
        print(json.dumps(chosen(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
