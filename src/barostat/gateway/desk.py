"""Connects the pure admission decision (`admit`) to the running gateway: requests, the queue,
returned reservations, and the engines in rotation.

The desk owns the ledger. Every reservation number that it gives out comes back exactly once,
through `returned`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from random import SystemRandom
from typing import TYPE_CHECKING

from barostat.admit import gate
from barostat.admit.asked import AskedRequest, CountedAs
from barostat.admit.decision import Admitted, Decision, Queued, Refused
from barostat.admit.gate import Ended
from barostat.admit.input_sizes import InputSizes
from barostat.admit.ledger import Ledger
from barostat.admit.priority_classes import class_of
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.request_limits import output_in_force, refused_at_sight, room_for_the_cap
from barostat.admit.rules import ClassRule, Rules, rules_of
from barostat.core.limits import FAILURE_POLICIES, FailurePolicy, ServingLimits
from barostat.gateway.asking import Asking
from barostat.gateway.messages.routes import GENERATING
from barostat.gateway.messages.served import Served, alike, elsewhere
from barostat.gateway.messages.shape import Shape, is_plain
from barostat.gateway.messages.token_bound import TokenCounts
from barostat.gateway.messages.usage import Usage
from barostat.gateway.metrics import Metrics

if TYPE_CHECKING:
    from barostat.gateway.replica import Replica, Standing

_POLICIES: dict[str, FailurePolicy] = dict.fromkeys(FAILURE_POLICIES, "closed")
"""Failure policies by limit, used for limits that the file does not name."""
_ABSURD_TOKENS = 1 << 22
"""Token counts above this are implausible: no engine accepts such a sequence."""
_SAMPLED_PER_TICK = 256
"""Streams whose progress one tick samples. Up to 2,048 streams are sampled once a second, fewer
streams more often.
"""


def _is_owed(one: Asking, shape: Shape) -> bool:
    """True if the request has no token yet and waits for the engine's core, not for media to be
    fetched or a tool to run.
    """
    waits_for_more = shape.media or (shape.tools and shape.route == "responses")
    return not waits_for_more and one.unanswered


class EnginesOfModel:
    """Facts about the engines that serve one model, computed once for all its requests. Engines in
    `elsewhere` serve other models.

    `has_a_pool`: at least one has reported its pool. `counts`: token counts of their inputs.
    `taken`: context length of each engine that reports one, in tokens. `longest`: longest input
    that can be allowed, in tokens (the limit or the context); `capped`: the same for a request
    without an output limit, with room for the cap that the gateway writes.
    """

    __slots__ = ("capped", "counts", "has_a_pool", "longest", "taken")

    def __init__(
        self,
        elsewhere: tuple[str, ...],
        pools: Mapping[str, Pool],
        rules: Rules,
        counts: TokenCounts,
    ) -> None:
        self.counts = counts
        away = frozenset(elsewhere)
        here = [pool for name, pool in pools.items() if name not in away]
        self.has_a_pool = bool(here)
        self.taken = taken = [
            pool.longest_tokens for pool in here if pool.longest_tokens is not None
        ]
        longest = max(taken) - 1 if len(taken) == len(here) and taken else None
        self.longest = min(
            (one for one in (rules.max_input_tokens, longest) if one is not None), default=None
        )
        room = (
            room_for_the_cap(rules, min((*taken, rules.max_model_len or taken[0])))
            if taken
            else None
        )
        self.capped = min((one for one in (self.longest, room) if one is not None), default=None)


class Desk:
    """The ledger, queued requests (`waiting`) and admitted requests (`running`), by reservation
    number. `rules`: from the limits in force.

    `soon`: schedules a callback after the current one. `on_standing_change`: called with an engine and its former
    standing whenever its standing changes.
    """

    def __init__(
        self,
        limits: ServingLimits,
        replicas: Sequence[Replica],
        metrics: Metrics,
        clock: Callable[[], float],
        soon: Callable[[Callable[[], None]], object],
        *,
        shadow: bool = False,
    ) -> None:
        self.metrics = metrics
        self.clock = clock
        self._soon = soon
        self.draw = SystemRandom().randrange
        self.shadow = shadow
        self.replicas = {replica.name: replica for replica in replicas}
        self.ledger = Ledger()
        self.bound_exceeded = 0
        self.counter: Callable[[Asking], None] | None = None
        self.waiting: dict[int, Asking] = {}
        self.running: dict[int, Asking] = {}
        self._to_sample: Iterator[Asking] = iter(())
        self.pools: dict[str, Pool] = {}
        self._elsewhere: Mapping[str, tuple[str, ...]] = {}
        self._names: frozenset[str] = frozenset()
        self._of_models: dict[str | None, EnginesOfModel] = {}
        self._untold: dict[str, InputSizes] = {}
        self.on_standing_change: Callable[[Replica, Standing], None] | None = None
        self.adopt(limits)

    def adopt(self, limits: ServingLimits) -> None:
        """Put these limits into force."""
        self.limits = limits
        self.rules: Rules = rules_of(limits)
        gate.adopted(self.ledger, self.rules, self.clock())
        self._of_models.clear()
        self._policies = {
            **_POLICIES,
            **{
                name.rpartition(".")[2]: policy
                for name, policy in limits.spec.edge.failure_policy.items()
            },
        }

    def opens(self, limit: str) -> bool:
        """True if requests pass while the state of this limit is unavailable."""
        return self._policies.get(limit, "closed") == "open"

    # -- requests

    def ask(self, exchange: Asking, shape: Shape, exact_tokens: int | None = None) -> Decision:
        """Decide on a request: admit, queue or refuse it. `exact_tokens`: its input as counted by
        an engine; None: bounded from its text.
        """
        now = self.clock()
        engines = self.engines_of(shape)
        counted: CountedAs = "exact"
        if exact_tokens is None:
            tokens, counted = self._estimated_input(exchange, shape, engines)
        else:
            tokens = exact_tokens
        request = AskedRequest(
            at=exchange.asked_at or now,
            input_tokens=tokens,
            counted_as=counted,
            output_limit=shape.output_limit if shape.route in GENERATING else 0,
            tenant=exchange.tenant,
            route=shape.route,
            class_key=self._class_of(shape),
            least_output_tokens=shape.least_output_tokens,
            prompts=shape.prompts,
            sequences=shape.sequences,
            priority=shape.priority,
            prefix_key=shape.opening,
            not_on=self._not_on(exchange, shape),
            priority_class=exchange.head.priority_class,
        )
        exchange.asked_at = request.at
        if self.rules.classes:
            own = class_of(self.rules, exchange.tenant, request.priority_class)
            exchange.priority_class = own.name if isinstance(own, ClassRule) else ""
        if engines.has_a_pool:
            decision: Decision = gate.decide(request, self.ledger, self.rules, now)
        else:
            decision = self._unaccounted(request)
        if self.ledger.shed:
            self._follow(gate.due(self.ledger, self.rules, now))
        if type(decision) is Queued:
            if self.shadow:
                return self._in_shadow(request, "queued", decision.reservation)
            self.waiting[decision.reservation] = exchange
        elif type(decision) is Admitted:
            if decision.reservation:
                self.running[decision.reservation] = exchange
            if self.shadow and decision.capped:
                self.metrics.count("shadow_output_caps_total")
                return decision._replace(output_cap=None, capped=False)
        elif type(decision) is Refused and self.shadow:
            return self._in_shadow(request, decision.reason, 0)
        return decision

    def _estimated_input(
        self, exchange: Asking, shape: Shape, engines: EnginesOfModel
    ) -> tuple[int, CountedAs]:
        """Return the input's tokens without an engine's count, and how they were obtained: `exact`
        if no limit is near, `estimate` if the input is surely below the limit, else `bound`.
        """
        counts = engines.counts
        bound = shape.bound = counts.bound(shape)
        tokens = shape.estimate = min(bound, counts.estimate(shape))
        limit = (
            engines.capped
            if shape.output_limit is None and shape.route in GENERATING
            else engines.longest
        )
        each = counts.each(shape, bound)
        if limit is None:
            return tokens, "exact"
        if each > limit and is_plain(exchange.body):
            shape.plain = True
            bound = shape.bound = counts.bound(shape)
            each = counts.each(shape, bound)
        if shape.unknown:
            tokens = shape.estimate = min(tokens, limit)
        elif each > limit or shape.unbounded:
            if counts.is_surely_below(limit, shape, exchange.body, self.draw):
                return tokens, "estimate"
            return max(bound, max(each, limit + 1) * shape.prompts), "bound"
        return tokens, "exact"

    def longest_taken(self, shape: Shape) -> int | None:
        """Truncation length, in tokens, common to all engines that serve the model; None if no
        engine reports its context.
        """
        taken = self.engines_of(shape).taken
        if not taken:
            return None
        return min(taken) - (max(1, shape.least_output_tokens) if shape.route in GENERATING else 0)

    def longest_input(self, shape: Shape) -> int | None:
        """Longest input that can be allowed, in tokens: the limit, or the context of the engines
        that serve the model.
        """
        return self.engines_of(shape).longest

    def counted(self, shape: Shape, input_tokens: int, served_by: str = "") -> None:
        """Learn from an engine's count of the tokens in this input."""
        replica = self.ledger.replicas.get(served_by)
        counts = (
            self.engines_of(shape).counts
            if replica is None
            else TokenCounts(replica.learned.inputs)
        )
        if counts.learn(shape, input_tokens):
            self.bound_exceeded += 1

    def believed(self, exchange: Asking, usage: Usage) -> Usage:
        """Return the usage without impossible counts: more than the engine's context, or more
        output than the request is allowed.
        """
        shape, held = exchange.shape, self.ledger.reservations.get(exchange.reservation)
        if shape is None:
            return usage
        seen, made = usage
        pool = self.pools.get(exchange.served_by)
        longest = _ABSURD_TOKENS if pool is None else pool.longest_tokens or _ABSURD_TOKENS
        if seen is not None and seen > longest * shape.prompts:
            seen = None
        most = longest if held is None else min(longest, held.cap)
        if made is not None and made > most * shape.sequences:
            made = None
        if (seen, made) == usage:
            return usage
        self.metrics.count("absurd_usage_total")
        return Usage(seen, made)

    def _in_shadow(self, request: AskedRequest, reason: str, reservation: int) -> Decision:
        """Pass a request that would have been refused or queued, without accounting for it."""
        self.metrics.would_refuse(reason)
        if reservation:
            gate.returned(self.ledger, reservation, self.clock(), "unsent")
        return self._passed(request)

    def _unaccounted(self, request: AskedRequest) -> Decision:
        """Decide while no engine has reported its pool size. Per-request limits are enforced; KV
        usage cannot be accounted. Requests that decode nothing pass: they hold no KV cache, and
        some engines have no pool.
        """
        at_sight = refused_at_sight(request, self.rules, None)
        if at_sight is not None:
            return at_sight
        if request.decodes and not self.shadow and not self.opens("kvTokenBudget"):
            return Refused(503, "no-replica", "no engine has told the size of its KV pool yet", 1.0)
        passed = self._passed(request)
        self.metrics.count("unaccounted_total")
        cap, capped, _ = output_in_force(request, self.rules, None)
        return (
            passed._replace(output_cap=cap, capped=capped)
            if isinstance(passed, Admitted) and not self.shadow
            else passed
        )

    def _passed(self, request: AskedRequest) -> Decision:
        replica = self.any_replica(request.not_on)
        if replica is None:
            return Refused(503, "no-replica", "no engine can be reached", 1.0)
        return Admitted(0, replica.name, None, False)

    def count(self, exchange: Asking) -> None:
        """Have the request's input counted exactly; the request is then decided on again."""
        assert self.counter is not None
        self.counter(exchange)

    def produced(self, exchange: Asking) -> None:
        """Report the request's output so far to the forecast."""
        shape = exchange.shape
        assert shape is not None
        each = exchange.produced // max(1, shape.sequences)
        gate.produced(self.ledger, exchange.reservation, each, self.clock())

    def returned(self, exchange: Asking, ended: Ended, usage: Usage) -> None:
        """Return the reservation and admit queued requests that now fit."""
        number, exchange.reservation = exchange.reservation, 0
        self.waiting.pop(number, None)
        self.running.pop(number, None)
        shape = exchange.shape
        assert shape is not None
        output = usage.output_tokens if usage.output_tokens is not None else exchange.produced
        each = -(-output // max(1, shape.sequences)) if ended != "unsent" else None
        now = self.clock()
        gate.returned(self.ledger, number, now, ended, usage.input_tokens, each)
        if self.waiting:
            self._follow(gate.due(self.ledger, self.rules, now))

    def tick(self, now: float) -> None:
        """Sample stream progress, expire requests that queued for too long, and admit queued
        requests that now fit.
        """
        self._sample()
        for replica in self.replicas.values():
            replica.close_old(now)
        if self.waiting:
            self._follow(gate.due(self.ledger, self.rules, self.clock()))

    def _sample(self) -> None:
        """Report the progress of the next streams to the forecast. On a fast engine, progress that
        is a second old is far off.
        """
        sampled = tuple(islice(self._to_sample, _SAMPLED_PER_TICK))
        for exchange in sampled:
            if exchange.reservation and exchange.produced:
                self.produced(exchange)
        if len(sampled) < _SAMPLED_PER_TICK:
            self._to_sample = iter(tuple(self.running.values()))

    def _follow(self, decided: Sequence[Admitted | Refused]) -> None:
        for decision in decided:
            exchange = self.waiting.pop(decision.reservation, None)
            if exchange is not None:
                if type(decision) is Admitted:
                    self.running[decision.reservation] = exchange
                self.metrics.queue_seconds.observe(self.clock() - exchange.asked_at)
                self._soon(partial(exchange.follow_if_here, decision))

    # -- engines

    def any_replica(self, not_on: Sequence[str]) -> Replica | None:
        """Return the replica in rotation with the fewest requests; None if there is none."""
        best: Replica | None = None
        for replica in self.replicas.values():
            if (
                replica.name not in not_on
                and replica.standing in ("up", "unknown")
                and (best is None or replica.active < best.active)
            ):
                best = replica
        return best

    def could_be_elsewhere(self, replica: Replica, since: float) -> bool:
        """True if a request sent to the replica after `since` still has no first token and another
        engine could serve it.
        """
        return any(
            one.served_by == replica.name
            and one.asked_at >= since
            and one.shape is not None
            and _is_owed(one, one.shape)
            and self.any_replica((*self._not_on(one, one.shape), replica.name)) is not None
            for one in self.running.values()
        )

    def not_serving(self, shape: Shape) -> tuple[str, ...]:
        """Replicas that serve other models, if at least one engine reports this model."""
        return self._elsewhere.get(shape.model, ())

    def engines_of(self, shape: Shape) -> EnginesOfModel:
        """Facts about the engines that serve the request's model."""
        elsewhere = self.not_serving(shape)
        model = shape.model if elsewhere else None
        found = self._of_models.get(model)
        if found is None:
            counts = TokenCounts(self._sizes_of(model, elsewhere))
            found = self._of_models[model] = EnginesOfModel(
                elsewhere, self.pools, self.rules, counts
            )
        return found

    def _sizes_of(self, model: str | None, elsewhere: Sequence[str]) -> InputSizes:
        """Input sizes learned from the engines that serve the model. Engines without a known pool
        share one record per model.
        """
        learned = self.ledger.learned_of(self.pools.keys() - set(elsewhere))
        if learned is not None:
            return learned.inputs
        return (
            self.ledger.learned.inputs
            if model is None
            else self._untold.setdefault(model, InputSizes())
        )

    def _not_on(self, exchange: Asking, shape: Shape) -> tuple[str, ...]:
        """Replicas that the request must not be sent to: those that failed it, and those that serve
        other models.
        """
        elsewhere = self.not_serving(shape)
        return (*exchange.not_on, *elsewhere) if exchange.not_on else elsewhere

    def has_others(self, tried: Sequence[str], shape: Shape | None) -> bool:
        """True if the request could go to a replica that was not tried yet."""
        return bool(
            self.replicas.keys()
            - set(tried)
            - set(self.not_serving(shape) if shape is not None else ())
        )

    def serves(self, replica: Replica, served: Served) -> None:
        """Record which models an engine serves."""
        if served != replica.served:
            replica.served = served
            self._look_at_served()

    def _look_at_served(self) -> None:
        served = [(one.name, one.served) for one in self.replicas.values()]
        self._elsewhere = elsewhere(served)
        gate.alike(self.ledger, alike(served))
        self._of_models.clear()
        self._untold = {
            model: sizes for model, sizes in self._untold.items() if model in self._elsewhere
        }
        now = self.clock()
        for number, exchange in tuple(self.waiting.items()):
            if exchange.shape is not None:
                never = gate.kept_off(
                    self.ledger, self.rules, number, self._not_on(exchange, exchange.shape), now
                )
                self._follow(() if never is None else (never,))
        names = frozenset[str]().union(*(one.served.names for one in self.replicas.values()))
        self._names = names if len(names) > 1 else frozenset()

    def _class_of(self, shape: Shape) -> str:
        """Key that separates length statistics beside tenant and route: the model, if engines serve
        several (adapters differ in output length), and whether the request has tools.
        """
        model = shape.model if shape.model in self._names else ""
        return f"{model} tools".lstrip() if shape.tools else model

    def unreachable(self, replica: Replica) -> None:
        """Take a replica that refused a connection out of rotation until it answers again."""
        self.stands(replica, "unreachable")

    def stands(self, replica: Replica, standing: Standing) -> None:
        """Set the replica's standing and call `on_standing_change`."""
        if standing == replica.standing or replica.standing == "leaving":
            return
        before, replica.standing = replica.standing, standing
        self.metrics.count("replica_changes_total", replica=replica.name, to=standing)
        if replica.name in self.pools:
            gate.draining(self.ledger, replica.name, standing != "up")
        if self.on_standing_change is not None:
            self.on_standing_change(replica, before)

    def joins(self, replica: Replica) -> None:
        """Add an engine; it enters rotation once it answers."""
        self.replicas[replica.name] = replica

    def comes_back(self, replica: Replica) -> None:
        """Keep an engine that was leaving; it enters rotation once it answers again."""
        replica.standing = "unknown"
        self.metrics.count("replica_changes_total", replica=replica.name, to="unknown")

    def leaves(self, replica: Replica) -> None:
        """Remove an engine. No request may be in flight on it."""
        self.replicas.pop(replica.name, None)
        if self.pools.pop(replica.name, None) is not None:
            gate.gone(self.ledger, replica.name, self.clock())
        self._look_at_served()
        replica.close()

    def has_pool(self, replica: Replica, pool: Pool) -> None:
        """Record an engine's pool size and account for its KV usage from now on. Ignored if the
        engine has left.
        """
        if self.replicas.get(replica.name) is not replica or replica.standing == "leaving":
            return
        if self.pools.get(replica.name) != pool:
            self.pools[replica.name] = pool
            gate.joined(self.ledger, replica.name, pool, self.clock())
            self._look_at_served()

    def observed(self, replica: Replica, seen: Observation) -> None:
        """Record how full an engine's pool is."""
        if replica.name in self.pools:
            gate.observed(self.ledger, replica.name, seen, self.clock())
