"""Runs inside the environment of the real vLLM: its own scheduler, step after step, on CPU, without
a model.

Reads one JSON case per line on stdin: {"settings": {...}, "groups": [[block tokens, window or null,
chunk or null, mode of states], ...], "rows": [...], "steps": most}. Writes one JSON line per case:
{"steps": [[step, [[id, tokens], ...], [preempted], running, waiting, [free block ids]], ...],
"rejected": [[id, reason], ...], "finished": [[id, step], ...], "stepsTaken": n}; for a case with "timed":
{"requestSteps": n, "seconds": s}. A row is visible to the first step whose number is its arrival or
more. With a "kv_role" each transfer takes the row's "transfer_steps", from the begin of the step
that asks for it, or from the end of the step that ended the request whose KV is fetched.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from oracle_connector import Connector, transfer_params
from vllm.config import (
    CacheConfig,
    KVTransferConfig,
    LoRAConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    SpeculativeConfig,
    VllmConfig,
)
from vllm.config.device import DeviceConfig
from vllm.lora.request import LoRARequest
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import (
    get_request_block_hasher,
    init_none_hash,
    resolve_kv_cache_block_sizes,
)
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
    SlidingWindowSpec,
)
from vllm.v1.outputs import DraftTokenIds, KVConnectorOutput, ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

TINY = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 128, "max_position_embeddings": 1048576, "torch_dtype": "float32",
}  # fmt: skip


def make(folder: Path, settings: dict[str, Any], groups: list[list[Any]]) -> Any:
    """The real scheduler with that configuration."""
    scheduling = SchedulerConfig(
        max_num_seqs=settings["max_num_seqs"], max_num_batched_tokens=settings["max_num_batched_tokens"],
        max_num_active_seqs=settings["max_num_active_seqs"], max_model_len=settings["max_model_len"], is_encoder_decoder=False,
        enable_chunked_prefill=settings["chunked_prefill"], async_scheduling=settings["async_scheduling"], policy=settings["policy"],
        watermark=settings["watermark_ratio"], scheduler_reserve_full_isl=settings["reserve_full_isl"],
        long_prefill_token_threshold=settings["long_prefill_token_threshold"],
        max_num_queued_reqs=settings["max_queued_requests"], max_num_queued_tokens=settings["max_queued_tokens"],
    )  # fmt: skip
    model = ModelConfig(
        model=str(folder),
        skip_tokenizer_init=True,
        dtype="float32",
        max_model_len=settings["max_model_len"],
        seed=0,
    )
    cache = CacheConfig(block_size=groups[0][0], enable_prefix_caching=settings["prefix_caching"])
    drafting = settings.get("drafting")
    speculation = _speculation(folder, model, drafting) if drafting else None
    role = settings.get("kv_role")
    transfers = {"kv_connector": "Connector", "kv_connector_module_path": "oracle_connector"}
    config = VllmConfig(
        scheduler_config=scheduling,
        speculative_config=speculation,
        lora_config=LoRAConfig(max_loras=settings.get("max_loras", 1)),
        kv_transfer_config=KVTransferConfig(**transfers, kv_role=role) if role else None,
        model_config=model,
        cache_config=cache,
        device_config=DeviceConfig(device="cpu"),
    )
    # What a platform without GPU switches off is asked for all the same: only the scheduler runs here.
    config.scheduler_config.async_scheduling = settings["async_scheduling"]
    config.scheduler_config.enable_chunked_prefill = settings["chunked_prefill"]
    config.cache_config.enable_prefix_caching = settings["prefix_caching"]
    config.cache_config.block_size = groups[0][0]
    config.cache_config.num_gpu_blocks = settings["kv_blocks"]
    if drafting:
        config.scheduler_config.max_num_scheduled_tokens = settings["max_num_batched_tokens"]
    config.cache_config.mamba_cache_mode = next(
        (group[3] for group in groups if len(group) > 3 and group[3]), "none"
    )
    pool = KVCacheConfig(
        num_blocks=settings["kv_blocks"],
        kv_cache_tensors=[],
        kv_cache_groups=[
            KVCacheGroupSpec([f"layer{index}"], _spec(*group)) for index, group in enumerate(groups)
        ],
        prefix_cache_retention_interval=0,
    )
    block_size, hash_size = resolve_kv_cache_block_sizes(pool, config)
    kind = AsyncScheduler if settings["async_scheduling"] else Scheduler
    return kind(
        vllm_config=config, kv_cache_config=pool, structured_output_manager=StructuredOutputManager(config), block_size=block_size,
        hash_block_size=hash_size, log_stats=False,
    )  # fmt: skip


def _speculation(folder: Path, model: Any, drafting: dict[str, Any]) -> Any:
    """The real configuration of a drafter of that method."""
    method = drafting["method"]
    given: dict[str, Any] = {"method": method, "num_speculative_tokens": drafting["tokens"]}
    if method == "ngram":
        given |= {"prompt_lookup_max": 4, "prompt_lookup_min": 2}
    else:
        drafter = folder / method
        drafter.mkdir(exist_ok=True)
        (drafter / "config.json").write_text(json.dumps(TINY))
        given |= {"model": str(drafter)}
    return SpeculativeConfig(
        **given, target_model_config=model, target_parallel_config=ParallelConfig()
    )


def _spec(block: int, window: int | None, chunk: int | None = None, state: str = "") -> Any:
    if state:
        return MambaSpec(
            block_size=block, shapes=((1,),), dtypes=(torch.float32,), mamba_cache_mode=state
        )
    one = {"block_size": block, "num_kv_heads": 1, "head_size": 1, "dtype": torch.float32}
    if chunk is not None:
        return ChunkedLocalAttentionSpec(**one, attention_chunk_size=chunk)
    return (
        FullAttentionSpec(**one)
        if window is None
        else SlidingWindowSpec(**one, sliding_window=window)
    )


def free_list(scheduler: Any) -> list[int]:
    """The ids of the free blocks from the head of the list."""
    block = (
        scheduler.kv_cache_manager.block_pool.free_block_queue.fake_free_list_head.next_free_block
    )
    found = []
    while block.next_free_block is not None:
        found.append(block.block_id)
        block = block.next_free_block
    return found


def _unfinished(scheduler: Any) -> set[str]:
    return {name for name, one in scheduler.requests.items() if not one.is_finished()}


class Transfers:
    """The transfers of the engine's connector, each as long as its row says. Mutable."""

    def __init__(self, scheduler: Any, rows: list[dict[str, Any]]) -> None:
        self._connector: Connector | None = scheduler.connector
        self._steps = {row["request_id"]: row.get("transfer_steps", 0) for row in rows}
        self._under_way: list[tuple[int, int, str, bool]] = []
        self._begun = 0

    def asked(self, now: int) -> None:
        """The worker begins to fetch what the scheduler just asked for."""
        if self._connector is not None:
            self._begin(self._connector.fetched, now, received=True)

    def ended(self, now: int) -> None:
        """Another engine begins to fetch the KV of the requests that just ended."""
        if self._connector is not None:
            held, self._connector.held = self._connector.held, []
            self._begin(held, now, received=False)

    def _begin(self, names: list[str], now: int, received: bool) -> None:
        for name in names:
            self._begun += 1
            self._under_way.append((now + self._steps[name], self._begun, name, received))

    def over(self, now: int) -> KVConnectorOutput | None:
        """The transfers that are over by now and were not told before, in their order."""
        told = sorted(one for one in self._under_way if one[0] <= now)
        self._under_way = [one for one in self._under_way if one[0] > now]
        if not told:
            return None
        return KVConnectorOutput(
            finished_sending=[name for *_, name, received in told if not received],
            finished_recving=[name for *_, name, received in told if received],
        )


def run(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Every step of that case."""
    scheduler = make(folder, case["settings"], case["groups"])
    hasher = (
        get_request_block_hasher(scheduler.hash_block_size, sha256)
        if case["settings"]["prefix_caching"]
        else None
    )
    rows = sorted(case["rows"], key=lambda row: row["arrival_s"])
    prefilling: dict[str, int] = {}
    frontend = SimpleNamespace(
        scheduler_config=scheduler.scheduler_config,
        admission_stats=None,
        get_num_unfinished_requests=lambda: len(scheduler.requests),
        get_num_queued_tokens=lambda: sum(prefilling.values()),
        _record_admission_rejection=lambda reason: reasons.append(reason),
    )
    reasons: list[str] = []
    rejected: list[list[str]] = []
    finished: list[list[Any]] = []
    lines: list[list[Any]] = []
    generated = 10**6
    seconds = 0.0
    flight: tuple[Any, list[bool], int] | None = None

    transfers = Transfers(scheduler, rows)
    drafting = case["settings"].get("drafting")
    drafted = drafting["tokens"] if drafting else 0
    lists = {row["request_id"]: row.get("accepted") for row in rows}

    def accepted(name: str, drafts: list[int]) -> int:
        """Leading drafts that the case accepts."""
        request = scheduler.requests.get(name)
        return int(min(len(drafts), lists[name][len(request.output_token_ids)])) if request else 0

    def take_in(output: Any, samples: list[bool], step: int, now: int) -> None:
        nonlocal generated, seconds
        ids = list(output.num_scheduled_tokens)
        tokens = []
        padded = {
            one.req_id for one in output.scheduled_new_reqs
        }  # admitted with drafts of no drafter
        padded |= set(output.scheduled_cached_reqs.resumed_req_ids)
        for name, sampled in zip(ids, samples, strict=True):
            drafts = [] if name in padded else output.scheduled_spec_decode_tokens.get(name, [])
            count = 1 + (accepted(name, drafts) if sampled and drafts else 0)
            tokens.append([generated + 1 + place for place in range(count)] if sampled else [])
            generated += count
            if sampled:
                prefilling.pop(name, None)
        before = _unfinished(scheduler)
        runner = ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={name: at for at, name in enumerate(ids)},
            sampled_token_ids=tokens,
            kv_connector_output=transfers.over(now),
        )
        began = time.process_time()
        scheduler.update_from_output(output, runner)
        seconds += time.process_time() - began
        if drafted and not case["settings"]["async_scheduling"]:
            scheduler.update_draft_token_ids(DraftTokenIds(ids, [[7] * drafted for _ in ids]))
        transfers.ended(now)
        finished.extend([name, step] for name in sorted(before - _unfinished(scheduler)))

    names = sorted({row["adapter"] for row in rows if row.get("adapter")})
    adapters = {name: LoRARequest(name, place, name) for place, name in enumerate(names, 1)}
    at = request_steps = 0
    for step in range(case["steps"]):
        while at < len(rows) and rows[at]["arrival_s"] <= step:
            row = rows[at]
            at += 1
            try:
                AsyncLLM.check_admission(frontend, 1, row["request_id"])
            except Exception:
                rejected.append([row["request_id"], reasons[-1]])
                continue
            moved = transfer_params(row) if case["settings"].get("kv_role") else None
            params = SamplingParams(
                max_tokens=row["output_tokens"],
                ignore_eos=True,
                extra_args={"kv_transfer_params": moved} if moved else None,
            )
            scheduler.add_request(
                Request(
                    request_id=row["request_id"], prompt_token_ids=row["prompt_token_ids"], sampling_params=params, pooling_params=None,
                    block_hasher=hasher, priority=row.get("priority", 0), arrival_time=row["arrival_s"],
                    lora_request=adapters.get(row.get("adapter")),
                )
            )  # fmt: skip
            prefilling[row["request_id"]] = len(row["prompt_token_ids"])
        began = time.process_time()
        output = scheduler.schedule()
        seconds += time.process_time() - began
        transfers.asked(step)
        request_steps += len(output.num_scheduled_tokens)
        samples = [
            not scheduler.requests[name].is_prefill_chunk for name in output.num_scheduled_tokens
        ]
        if not case.get("timed") and (output.num_scheduled_tokens or output.preempted_req_ids):
            lines.append(
                [step, list(output.num_scheduled_tokens.items()), sorted(output.preempted_req_ids or ()), len(scheduler.running),
                 len(scheduler.waiting) + len(scheduler.kv_holding_waiting), free_list(scheduler)]
            )  # fmt: skip
        if not case["settings"]["async_scheduling"]:
            take_in(output, samples, step, step + 1)
        else:
            if flight is not None:
                take_in(*flight, step)
            flight = (output, samples, step)
        if at == len(rows) and not scheduler.requests:
            break
    if case.get("timed"):
        return {"requestSteps": request_steps, "seconds": seconds}
    return {"steps": lines, "rejected": rejected, "finished": finished, "stepsTaken": step + 1}


def main() -> None:
    """One line out for each line in."""
    logging.disable(logging.CRITICAL)
    init_none_hash(sha256)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(TINY))
        for line in sys.stdin:
            print(json.dumps(run(json.loads(line), folder)), flush=True)


if __name__ == "__main__":
    main()
