"""An engine whose steps are known, looked at as `--from` looks at one: the twin in its own time,
its /metrics every few seconds.
"""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field

from barostat.catalog.vllm_cache_labels import cache_labels
from barostat.core.version import parse_version
from barostat.engines.vllm.metrics.engine_metrics import EngineMetrics
from barostat.engines.vllm.metrics.exposition_writer import page
from barostat.engines.vllm.served_stats import FinishedStats, IterationStats, SchedulerStats
from barostat.judge.evidence.recording import Recording, ReplicaRecording, Scrape
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import State
from barostat.twin.scheduler.live import LiveEngine, LiveRequest, Tick
from barostat.twin.settings import Settings
from barostat.twin.workload.random_streams import Dice

BEGAN_S = 1_795_000_000.0
VERSION = "0.32.0"
Lengths = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of lengths even within bounds. `clients`: each waits for its answer, else they come
    `rate` times a second.

    `evenly`: at one distance from each other, not at random.
    """

    inputs: Lengths
    outputs: Lengths
    rate: float = 0.0
    clients: int = 0
    evenly: bool = False
    pause_s: float = 0.0
    adapters: int = 0


@dataclass(slots=True)
class Truth:
    """What the engine really did between the first scrape and the last. Mutable: counted step by
    step.
    """

    steps: int = 0
    prefill_tokens: int = 0
    decodes: int = 0
    kv_tokens: int = 0
    busy_s: float = 0.0
    preemptions: int = 0
    output_tokens: int = 0
    in_flight: list[int] = field(default_factory=list)
    gaps_s: list[float] = field(default_factory=list)
    firsts_s: list[float] = field(default_factory=list)


class _Counted:
    """A pace that notes what it is asked. Mutable."""

    def __init__(self, pace: LinearPace, truth: Truth) -> None:
        self.truth, self._pace, self.counting = truth, pace, False

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        took_ns = self._pace.step_ns(prefill_tokens, decodes, kv_tokens, pairs)
        if self.counting:
            truth = self.truth
            truth.steps += 1
            truth.prefill_tokens += prefill_tokens
            truth.decodes += decodes
            truth.kv_tokens += kv_tokens
            truth.busy_s += took_ns / 1e9
        return took_ns

    def start_ns(self, arrival_ns: int) -> int:
        return arrival_ns

    @property
    def empty_ns(self) -> int:
        return 0


class _Alone(LiveRequest):
    """A request whose prompt is like no other's, and what its client and the front end know of
    it.
    """

    __slots__ = ("began_ns", "client", "first_ns", "last_ns", "number")
    number: int
    client: int
    began_ns: int
    first_ns: int
    last_ns: int

    def key(self, index: int) -> int:
        return (self.number << 24) + index


class Watched:
    """One run. Mutable."""

    def __init__(
        self,
        settings: Settings,
        pace: LinearPace,
        load: Load,
        seed: int = 0,
        *,
        model: str = "m",
        pool_tokens: int | None = None,
    ) -> None:
        """`pool_tokens`: as the engine counts them, where that is not its blocks times their size."""
        self.settings, self._load, self._model = settings, load, model
        self.truth = Truth()
        self._pace = _Counted(pace, self.truth)
        self._engine = LiveEngine(settings, self._pace)
        block = settings.groups[0].block_tokens
        version = parse_version(VERSION)
        assert version is not None
        known = {
            "block_size": str(block), "num_gpu_blocks": str(settings.kv_blocks),
            "kv_cache_size_tokens": str(pool_tokens or settings.kv_blocks * block), "enable_prefix_caching": str(settings.prefix_caching),
        }  # fmt: skip
        self._metrics = EngineMetrics(
            version, "m", settings.max_model_len, cache_labels(version, known), BEGAN_S
        )
        self._dice = {name: Dice(seed, name) for name in ("input", "output", "arrival")}
        self._coming: list[tuple[int, int, int]] = []  # at, number, client
        self._requests: dict[str, _Alone] = {}
        self._unscheduled: list[_Alone] = []
        self._number = 0
        self._late: list[tuple[int, int, int]] = []
        self._before_ns = 0

    def recording(self, from_s: float, until_s: float, every_s: float = 5.0) -> Recording:
        """The scrapes between two instants of the run."""
        for client in range(self._load.clients):
            self._comes(round(client * 0.02e9), client)
        if not self._load.clients:
            self._comes(0, -1)
        texts: list[Scrape] = []
        due: int | None = None
        next_s = from_s
        while next_s <= until_s:
            now = due if due is not None else self._coming[0][0]
            while now / 1e9 > next_s and next_s <= until_s:
                self._pace.counting = next_s < until_s
                texts.append(Scrape(BEGAN_S + next_s, self._page(), "watched"))
                self.truth.in_flight.append(self._engine.unfinished)
                next_s += every_s
            due = self._turn(now, busy=due is not None)
        settings = self.settings
        args = (
            "serve", self._model, "--max-model-len", str(settings.max_model_len), "--max-num-seqs", str(settings.max_num_seqs),
            "--max-num-batched-tokens", str(settings.max_num_batched_tokens), "--watermark", str(settings.watermark_ratio),
            "--async-scheduling" if settings.async_scheduling else "--no-async-scheduling",
        )  # fmt: skip
        replica = ReplicaRecording("watched", version=VERSION, args=args, scrapes=tuple(texts))
        return Recording("watched", texts[-1].at, (replica,))

    def _page(self) -> str:
        """The engine's metrics; with LoRA those of its adapters, for which all that wait do."""
        text = page(self._metrics.metrics)
        if not self._load.adapters:
            return text
        requests = self._requests.values()
        waiting = [one for one in requests if one.state is not State.RUNNING]
        running = {one.adapter or "" for one in requests if one.state is State.RUNNING}
        wanted = {one.adapter or "" for one in waiting}
        for reason, count in (("capacity", 0), ("deferred", len(waiting))):
            text = re.sub(rf'(?m)^(.*_by_reason.*"{reason}".*) \S+$', rf"\g<1> {count}", text)
        return (
            f'{text}vllm:lora_requests_info{{max_lora="{self.settings.max_loras}",'
            f'running_lora_adapters="{",".join(sorted(running))}",'
            f'waiting_lora_adapters="{",".join(sorted(wanted))}"}} 1\n'
        )

    def _turn(self, now: int, *, busy: bool) -> int | None:
        """One step ends and one begins: when that ends, None where nothing runs.

        An asynchronous engine has the next step scheduled when this one ends: who came in between
        is in the one after, and was scheduled a step before the twin, which knows no such delay,
        has it so.
        """
        delayed = busy and self.settings.async_scheduling
        coming, self._late = self._late, []
        while self._coming and self._coming[0][0] <= now:
            come = heapq.heappop(self._coming)
            (self._late if delayed else coming).append(come)
            if come[2] < 0:
                self._next_comes(come[0])
        for at_ns, number, client in coming:
            self._add(at_ns, number, client)
        tick = self._engine.tick(now)
        for one in [one for one in self._unscheduled if one.scheduled_ns is not None]:
            self._unscheduled.remove(one)
            one.began_ns = self._before_ns if delayed else now
        self._take(tick, now)
        self._before_ns = now
        return tick.until_ns if tick.until_ns is not None or not self._late else now

    def _comes(self, at_ns: int, client: int) -> None:
        heapq.heappush(self._coming, (at_ns, self._number, client))
        self._number += 1

    def _add(self, at_ns: int, number: int, client: int) -> None:
        load = self._load
        inputs, outputs = (
            low + round((high - low) * self._dice[name].uniform())
            for name, (low, high) in (("input", load.inputs), ("output", load.outputs))
        )
        request = _Alone(
            str(number),
            range(inputs),
            outputs,
            lambda _: 0,
            self.settings,
            now_ns=at_ns,
            arrival_s=at_ns / 1e9,
        )
        request.client, request.number, request.began_ns, request.first_ns, request.last_ns = (
            client,
            number,
            0,
            0,
            0,
        )
        if load.adapters:
            request.adapter = f"adapter-{number % load.adapters}"
        self._requests[request.request_id] = request
        self._unscheduled.append(request)
        self._engine.add(request)

    def _next_comes(self, at_ns: int) -> None:
        """Who comes after one that came at that instant, whenever that one is scheduled: several
        may come within one step.
        """
        gap_s = (
            1 / self._load.rate
            if self._load.evenly
            else self._dice["arrival"].exponential(1 / self._load.rate)
        )
        self._comes(at_ns + round(gap_s * 1e9), -1)

    def _take(self, tick: Tick, now_ns: int) -> None:
        self._metrics.scheduler(
            SchedulerStats(
                tick.running,
                tick.waiting,
                tick.usage_ratio,
                tick.lookup_requests,
                tick.lookup_tokens,
                tick.hit_tokens,
            )
        )
        if not tick.outputs:
            return
        batch = IterationStats()
        for out in tick.outputs:
            one = self._requests[out.request_id]
            batch.generation_tokens += 1
            batch.preemptions += out.preemptions
            if out.first is not None:
                one.first_ns = now_ns
                batch.prompt_tokens += one.prompt_tokens
                batch.cached_tokens += out.first[2]
                batch.ttft_s.append(now_ns / 1e9 - one.arrival_s)
            else:
                batch.itl_s.append((now_ns - one.last_ns) / 1e9)
            one.last_ns = now_ns
            if out.finished:
                batch.finished.append(self._finished(one, now_ns))
                del self._requests[out.request_id]
        if self._pace.counting:
            self.truth.preemptions += batch.preemptions
            self.truth.output_tokens += batch.generation_tokens
            self.truth.gaps_s += batch.itl_s
            self.truth.firsts_s += batch.ttft_s
        self._metrics.iteration(batch)

    def _finished(self, one: _Alone, now_ns: int) -> FinishedStats:
        if one.client >= 0:
            self._comes(now_ns + round(self._load.pause_s * 1e9), one.client)
        scheduled = max(one.began_ns, one.added_ns)
        return FinishedStats(
            "length", now_ns / 1e9 - one.arrival_s, (scheduled - one.added_ns) / 1e9, (one.first_ns - scheduled) / 1e9,
            (now_ns - one.first_ns) / 1e9, one.prompt_tokens, one.cached_tokens, one.output_tokens, one.output_limit, one.preemptions,
            1, one.output_tokens,
        )  # fmt: skip
