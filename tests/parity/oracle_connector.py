"""A KV connector for the real scheduler without workers: its scheduler's half is NIXL's own, and no
KV moves. Runs inside the environment of the real vLLM; tests/parity/oracle_scheduler.py says when a
transfer is over.
"""

from __future__ import annotations

from typing import Any

from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1, SupportsHMA
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.pull_scheduler import (
    NixlPullConnectorScheduler,
)

REMOTE = {
    "do_remote_prefill": True,
    "remote_block_ids": ([1],),
    "remote_engine_id": "prefill",
    "remote_host": "127.0.0.1",
    "remote_port": 1,
    "tp_size": 1,
}


def transfer_params(row: dict[str, Any]) -> dict[str, Any] | None:
    """What a router sends with the request."""
    if row["remote"] == "decode":
        return {"do_remote_decode": True}
    if row["remote"] == "prefill":
        return {**REMOTE, "remote_request_id": row["request_id"]}
    return None


class Connector(KVConnectorBase_V1, SupportsHMA):  # type: ignore[misc]
    """`fetched`: requests whose KV the worker was last told to fetch; `held`: those that ended and
    hold KV since somebody last looked.
    """

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        self._nixl = NixlPullConnectorScheduler(vllm_config, "oracle", kv_cache_config)
        self.fetched: list[str] = []
        self.held: list[str] = []

    def on_new_request(self, request: Any) -> None:
        self._nixl.on_new_request(request)

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> Any:
        return self._nixl.get_num_new_matched_tokens(request, num_computed_tokens)

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        self._nixl.update_state_after_alloc(request, blocks, num_external_tokens)

    def build_connector_meta(self, scheduler_output: Any) -> Any:
        meta = self._nixl.build_connector_meta(scheduler_output)
        self.fetched = list(meta.reqs_to_recv)
        return meta

    def update_connector_output(self, connector_output: Any) -> None:
        self._nixl.update_connector_output(connector_output)

    def request_finished_all_groups(self, request: Any, block_ids: Any) -> Any:
        delayed, params = self._nixl.request_finished(request, block_ids)
        if delayed:
            self.held.append(request.request_id)
        return delayed, params

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def wait_for_layer_load(self, layer_name: str) -> None:
        raise NotImplementedError

    def save_kv_layer(self, *given: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def wait_for_save(self) -> None:
        raise NotImplementedError
