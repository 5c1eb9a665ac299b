"""Where the pure decision (`admit`) meets the running gateway: asks, queue, returns, and the
engines that are in rotation.

The ledger belongs to this desk. Every reservation number that is given out comes back exactly once,
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
"""What happens while a limit's state cannot be had and the file does not say."""
_ABSURD_TOKENS = 1 << 22
"""No engine takes so many tokens in one sequence."""
_HEARD_AT_ONCE = 256
"""Streams of which a tick hears how far they are: up to 2,048 of them once a second, fewer more
often.
"""


def _is_owed(one: Asking, shape: Shape) -> bool:
    """No token has come of it, and it is the engine's core that it waits for: no picture to be
    fetched first, no tool of the engine's.
    """
    waits_for_more = shape.media or (shape.tools and shape.route == "responses")
    return not waits_for_more and one.unanswered


class EnginesOfModel:
    """What is known of the engines that serve one model, reckoned once for all that ask for it: of
    all but those that are `elsewhere`.

    `has_a_pool`: one of them has told its pool. `counts`: of their inputs.
    `taken`: tokens of one sequence that each takes, of those that say it. `longest`: tokens of the
    longest input that could be allowed, the limit or what they take; `capped`: the same without an
    output limit, with room for the one that is written.
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
    """The ledger, who waits on it (`waiting`) and who was admitted (`running`). `rules`: of the
    limits in force.

    `soon`: does something when what is being done now is done. `told`: hears how an engine stood
    before, when it stands differently.
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
        self._to_hear: Iterator[Asking] = iter(())
        self.pools: dict[str, Pool] = {}
        self._elsewhere: Mapping[str, tuple[str, ...]] = {}
        self._names: frozenset[str] = frozenset()
        self._of_models: dict[str | None, EnginesOfModel] = {}
        self._untold: dict[str, InputSizes] = {}
        self.told: Callable[[Replica, Standing], None] | None = None
        self.adopt(limits)

    def adopt(self, limits: ServingLimits) -> None:
        """These limits are in force from now on."""
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
        """Requests pass while that limit's state cannot be had."""
        return self._policies.get(limit, "closed") == "open"

    # -- requests

    def ask(self, exchange: Asking, shape: Shape, exact_tokens: int | None = None) -> Decision:
        """What becomes of the request now; what it will hold is known exactly, or as well as it is
        without a count.
        """
        now = self.clock()
        engines = self.engines_of(shape)
        counted: CountedAs = "exact"
        if exact_tokens is not None:
            tokens = exact_tokens
        else:
            counts = engines.counts
            bound = shape.bound = counts.bound(shape)
            tokens = shape.estimate = min(bound, counts.estimate(shape))
            limit = (
                engines.capped
                if shape.output_limit is None and shape.route in GENERATING
                else engines.longest
            )
            each = counts.each(shape, bound)
            if limit is not None and each > limit and is_plain(exchange.body):
                shape.plain = True
                bound = shape.bound = counts.bound(shape)
                each = counts.each(shape, bound)
            if limit is not None and (each > limit or shape.unbounded) and not shape.unknown:
                if counts.is_surely_below(limit, shape, exchange.body, self.draw):
                    counted = "estimate"
                else:
                    counted, tokens = "bound", max(bound, max(each, limit + 1) * shape.prompts)
            elif limit is not None and shape.unknown:
                tokens = shape.estimate = min(tokens, limit)
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

    def longest_taken(self, shape: Shape) -> int | None:
        """Tokens of an input to which every engine that serves it cuts one that is to be cut; None
        where they do not say.
        """
        taken = self.engines_of(shape).taken
        if not taken:
            return None
        return min(taken) - (max(1, shape.least_output_tokens) if shape.route in GENERATING else 0)

    def longest_input(self, shape: Shape) -> int | None:
        """Tokens of the longest input that could be allowed: the limit, or what the engines that
        serve it take.
        """
        return self.engines_of(shape).longest

    def counted(self, shape: Shape, input_tokens: int, served_by: str = "") -> None:
        """An engine has told how many tokens this input was."""
        replica = self.ledger.replicas.get(served_by)
        counts = (
            self.engines_of(shape).counts
            if replica is None
            else TokenCounts(replica.learned.inputs)
        )
        if counts.learn(shape, input_tokens):
            self.bound_exceeded += 1

    def believed(self, exchange: Asking, usage: Usage) -> Usage:
        """Return the usage without counts that cannot be: more than the engine's context takes, or
        more output than the request may have.
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
        """What would have been refused or held back passes, outside the account."""
        self.metrics.would_refuse(reason)
        if reservation:
            gate.returned(self.ledger, reservation, self.clock(), "unsent")
        return self._passed(request)

    def _unaccounted(self, request: AskedRequest) -> Decision:
        """Decide while no engine has told the size of its pool: the account cannot be kept, the
        limits of one request can. What decodes nothing holds nothing, and some engines have no pool.
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
        """The request's input is counted exactly, then it is decided on again."""
        assert self.counter is not None
        self.counter(exchange)

    def produced(self, exchange: Asking) -> None:
        """What the request has been answered so far is known to the forecast."""
        shape = exchange.shape
        assert shape is not None
        each = exchange.produced // max(1, shape.sequences)
        gate.produced(self.ledger, exchange.reservation, each, self.clock())

    def returned(self, exchange: Asking, ended: Ended, usage: Usage) -> None:
        """The reservation has come back; what that makes room for has its turn."""
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
        """It is heard how far streams are; who waited for too long is told so; who fits by now has
        its turn.
        """
        self._hear()
        for replica in self.replicas.values():
            replica.close_old(now)
        if self.waiting:
            self._follow(gate.due(self.ledger, self.rules, self.clock()))

    def _hear(self) -> None:
        """What streams have produced is known to the forecast: what is a second old is far off at a
        quick engine.
        """
        heard = tuple(islice(self._to_hear, _HEARD_AT_ONCE))
        for exchange in heard:
            if exchange.reservation and exchange.produced:
                self.produced(exchange)
        if len(heard) < _HEARD_AT_ONCE:
            self._to_hear = iter(tuple(self.running.values()))

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
        """The one in rotation with the fewest requests, None where there is none."""
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
        """It owes a request that it was given since then its first token, and there is another
        engine that could have it.
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
        """The replicas that say what they serve, and not its model, while another does."""
        return self._elsewhere.get(shape.model, ())

    def engines_of(self, shape: Shape) -> EnginesOfModel:
        """What is known of the engines that serve its model."""
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
        """What is learned of the engines that serve it; of those of one model that have not told a
        pool, while another is served.
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
        """The replicas that it may not go to: those that have failed for it, and those that do not
        serve its model.
        """
        elsewhere = self.not_serving(shape)
        return (*exchange.not_on, *elsewhere) if exchange.not_on else elsewhere

    def has_others(self, tried: Sequence[str], shape: Shape | None) -> bool:
        """It may go to a replica that is not among those tried."""
        return bool(
            self.replicas.keys()
            - set(tried)
            - set(self.not_serving(shape) if shape is not None else ())
        )

    def serves(self, replica: Replica, served: Served) -> None:
        """An engine has told which models it serves."""
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
        """What tells lengths apart beside tenant and route: the model where engines name several
        (adapters write as they were taught), and whether tools are brought.
        """
        model = shape.model if shape.model in self._names else ""
        return f"{model} tools".lstrip() if shape.tools else model

    def unreachable(self, replica: Replica) -> None:
        """It took no connection: out of rotation until it answers again."""
        self.stands(replica, "unreachable")

    def stands(self, replica: Replica, standing: Standing) -> None:
        """How the replica is, from now on."""
        if standing == replica.standing or replica.standing == "leaving":
            return
        before, replica.standing = replica.standing, standing
        self.metrics.count("replica_changes_total", replica=replica.name, to=standing)
        if replica.name in self.pools:
            gate.draining(self.ledger, replica.name, standing != "up")
        if self.told is not None:
            self.told(replica, before)

    def joins(self, replica: Replica) -> None:
        """An engine more: in rotation once it has answered."""
        self.replicas[replica.name] = replica

    def comes_back(self, replica: Replica) -> None:
        """One that was leaving stays: in rotation once it has answered again."""
        replica.standing = "unknown"
        self.metrics.count("replica_changes_total", replica=replica.name, to="unknown")

    def leaves(self, replica: Replica) -> None:
        """The engine is no more; nothing is under way on it."""
        self.replicas.pop(replica.name, None)
        if self.pools.pop(replica.name, None) is not None:
            gate.gone(self.ledger, replica.name, self.clock())
        self._look_at_served()
        replica.close()

    def has_pool(self, replica: Replica, pool: Pool) -> None:
        """An engine has told the size of its pool: from now on what it holds is accounted for. One
        that has left meanwhile is not.
        """
        if self.replicas.get(replica.name) is not replica or replica.standing == "leaving":
            return
        if self.pools.get(replica.name) != pool:
            self.pools[replica.name] = pool
            gate.joined(self.ledger, replica.name, pool, self.clock())
            self._look_at_served()

    def observed(self, replica: Replica, seen: Observation) -> None:
        """An engine has told how full it is."""
        if replica.name in self.pools:
            gate.observed(self.ledger, replica.name, seen, self.clock())
