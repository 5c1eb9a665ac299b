"""A workload through a prefill engine and a decode engine: a request is prefilled by the one, its
KV goes over the link when the other has room for it, and the answer comes from there.

What a router between them adds is not modelled, nor are transfers that fail or expire, several
engines on a side, and KV that the prefill engine pushes.

Source: vLLM 0.32.0, NixlPullConnectorScheduler.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

from barostat.core.uncollected import uncollected
from barostat.twin.data_parallel.ranks import merged_loads
from barostat.twin.intake import Intake
from barostat.twin.outcome import Life, Outcome
from barostat.twin.pace import Pace
from barostat.twin.remote_kv.half import Half
from barostat.twin.remote_kv.link import Link, Wire
from barostat.twin.request import Row
from barostat.twin.settings import Settings, check

_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """Outcome of each engine, and of the pair as seen by clients. `wire`: the transfers."""

    prefill: Outcome
    decode: Outcome
    together: Outcome
    wire: Wire


class Pair:
    """The two engines. Mutable; `run` takes the workload to its end.

    Errors: InputError for settings that are not modelled with a KV connector.
    """

    def __init__(
        self, prefill: Settings, decode: Settings, rows: Sequence[Row], prefill_pace: Pace,
        decode_pace: Pace, link: Link,
    ) -> None:  # fmt: skip
        prefill, decode = replace(prefill, kv_role="kv_both"), replace(decode, kv_role="kv_both")
        check(prefill)
        check(decode)
        longest = min(prefill.max_model_len, decode.max_model_len)
        self._intake = Intake(replace(prefill, max_model_len=longest), rows)
        self._prefill = Half(_unlimited(prefill), prefill_pace, self._intake.first_token)
        self._decode = Half(_unlimited(decode), decode_pace, lambda _: None)
        self._wire = Wire(link, decode.aligned_tokens)
        self._on_wire: list[tuple[int, int, str]] = []
        self._rows: dict[str, Row] = {}
        self._usable = (prefill.usable_blocks, decode.usable_blocks)

    def run(self) -> PairOutcome:
        """Run to the end and return the outcome."""
        with uncollected():
            while self._move():
                pass
        return self._told()

    def _move(self) -> bool:
        """Whatever is next happens. False at the end."""
        arrival_ns = _or_never(self._intake.next_ns)
        there_ns = self._on_wire[0][0] if self._on_wire else _NEVER
        prefill_ns, decode_ns = _or_never(self._prefill.due_ns), _or_never(self._decode.due_ns)
        now_ns = min(arrival_ns, there_ns, prefill_ns, decode_ns)
        if now_ns == _NEVER:
            return False
        if arrival_ns == now_ns:
            self._arrive(now_ns)
        elif there_ns == now_ns:
            name = heapq.heappop(self._on_wire)[2]
            self._prefill.moved(name, now_ns)
            self._decode.moved(name, now_ns)
        elif prefill_ns == now_ns:
            for name in self._prefill.tick(now_ns).ready:
                self._decode.put_at(self._rows[name]._replace(remote="prefill"), now_ns)
        else:
            ticked = self._decode.tick(now_ns)
            for name, tokens in ticked.loading:
                there_ns = self._wire.send(tokens, now_ns)
                heapq.heappush(self._on_wire, (there_ns, len(self._wire.took_ns), name))
            for name, at_ns in ticked.ended:
                self._intake.finished(name, at_ns)
        return True

    def _arrive(self, now_ns: int) -> None:
        for at_ns, row, output_tokens in self._intake.until(now_ns):
            known = row._replace(output_tokens=output_tokens, after_id=None)
            self._rows[row.request_id] = known
            self._prefill.put_at(known._replace(output_tokens=1, remote="decode"), at_ns)

    def _told(self) -> PairOutcome:
        first, second = self._prefill.outcome, self._decode.outcome
        answers = {life.request_id: life for life in second.lives}
        together = Outcome(
            lives=[_client_life(life, answers.get(life.request_id)) for life in first.lives],
            rejections=self._intake.rejections,
            load=merged_loads([first.load, second.load], self._usable),
            gaps=second.gaps,
            cached_tokens=first.cached_tokens,
            looked_up_tokens=first.looked_up_tokens,
            clamped_outputs=self._intake.clamped,
            end_ns=max(first.end_ns, second.end_ns),
            stuck="; ".join(
                f"{name} engine: {why}"
                for name, half in (("prefill", self._prefill), ("decode", self._decode))
                if (why := half.why_stuck)
            ),
        )
        for name in ("steps", "request_steps", "scheduled_tokens", "preemptions",
                     "recomputed_tokens"):  # fmt: skip
            setattr(together, name, getattr(first, name) + getattr(second, name))
        return PairOutcome(first, second, together, self._wire)


def _unlimited(settings: Settings) -> Settings:
    """Those of an engine that refuses nothing that was let in before it."""
    return replace(
        settings, max_queued_requests=None, max_queued_tokens=None, edge_input_tokens=None
    )


def _or_never(at_ns: int | None) -> int:
    return _NEVER if at_ns is None else at_ns


def _client_life(prefilled: Life, answered: Life | None) -> Life:
    """The request as its client sees it: admitted by the one engine, answered by the other."""
    if answered is None:
        return replace(prefilled, output_tokens=0, first_token_ns=None, finished_ns=None)
    return replace(
        prefilled,
        output_tokens=answered.output_tokens,
        first_token_ns=answered.first_token_ns,
        finished_ns=answered.finished_ns,
        preemptions=prefilled.preemptions + answered.preemptions,
        recomputed_tokens=prefilled.recomputed_tokens + answered.recomputed_tokens,
    )
