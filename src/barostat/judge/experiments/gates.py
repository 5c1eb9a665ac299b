"""The gates that are compared: ours, and what others do in its place. They differ in one answer
only: does this request fit there now?

All have the same queue, the same deadlines and the same choice of replica, so that what is measured
is the decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from barostat.admit.held_forecast import Holding
from barostat.admit.lines import ReplicaLedger
from barostat.admit.replica_news import Observation, Pool

GateName = Literal["forecast", "oracle", "worst-case", "concurrency", "engine", "ceilings"]
GATES: tuple[GateName, ...] = get_args(GateName)
"""`forecast`: ours. `oracle`: knows every output length. `worst-case`: reserves input + max_tokens.
`concurrency`: a fixed number of requests per replica (`Rules.max_running`). `engine`: none, the
engines' own limits decide. `ceilings`: llm-d's priority ceilings and sheddable requests.
"""


_ORACLE_RATIO = 0.97
# Of the pool: it knows each length, but not to the step when each prompt is through.


class _OpenReplica(ReplicaLedger):
    """Everything fits; how many may run is in the rules. The load is what is in flight."""

    __slots__ = ()

    def fits(self, one: Holding, z: float, budget: float, at: float) -> bool:
        del one, z, budget, at
        return True

    def look(self, at: float) -> None:
        del at

    def admit(self, one: Holding) -> None:
        super().admit(one)
        self.held_tokens = float(len(self.live))

    def take_back(self, one: Holding) -> None:
        super().take_back(one)
        self.held_tokens = float(len(self.live))

    def observe(self, seen: Observation, at: float) -> int:
        del seen, at
        return 0


class _WorstCaseReplica(ReplicaLedger):
    """Admits a request if all responses fit at their maximum length."""

    __slots__ = ()

    def fits(self, one: Holding, z: float, budget: float, at: float) -> bool:
        del z, at
        one.held = self.holds(one, one.produced)
        return self.most_tokens + self.most(one) <= budget


class _OracleReplica(ReplicaLedger):
    """Admits with known output lengths: each request's limit is its actual length."""

    __slots__ = ()

    def fits(self, one: Holding, z: float, budget: float, at: float) -> bool:
        del z, at
        budget *= _ORACLE_RATIO
        one.held = self.holds(one, one.produced)
        if self.most_tokens + self.most(one) <= budget:
            return True
        left = [
            (other.cap - other.produced, self.holds(other, other.produced))
            for other in self.live.values()
        ]
        left.append((one.cap, one.held))
        left.sort(reverse=True)
        held = 0.0
        for count, (steps, mine) in enumerate(left, 1):
            held += mine
            if held + count * steps > budget:
                return False
        return True


_QUEUE_DEPTH, _USED_RATIO = 5, 0.8


class _CeilingReplica(_OpenReplica):
    """Dispatch while the engine's saturation is below the ceiling of the request's class: the larger
    of its queue over 5 and its KV usage over 0.8, as the engine last said. What the class may take
    of a pool (`ClassRule.pool_share`) is that ceiling; a class that may not wait (`queue_share` 0)
    is sheddable: refused at once.

    Source: re-implemented from the public documentation of llm-d's router (flow control, dispatch
    by priority band) and of the Gateway API Inference Extension (saturation detector and its
    defaults, sheddable requests); no line of their code. Its choice of replica is ours.
    """

    __slots__ = ("used_ratio",)

    def __init__(self, name: str, pool: Pool) -> None:
        super().__init__(name, pool)
        self.used_ratio = 0.0

    def fits(self, one: Holding, z: float, budget: float, at: float) -> bool:
        del z, budget, at
        rule = one.priority_class
        saturation = max(self.waiting / _QUEUE_DEPTH, self.used_ratio / _USED_RATIO)
        return saturation < (1.0 if rule is None else rule.pool_share)

    def class_has_room(self, one: Holding, budget_tokens: int | None) -> bool:
        del one, budget_tokens
        return True

    def observe(self, seen: Observation, at: float) -> int:
        del at
        self.waiting, self.used_ratio = seen.waiting, seen.usage_ratio
        return 0


REPLICAS: dict[GateName, Callable[[str, Pool], ReplicaLedger]] = {
    "forecast": ReplicaLedger,
    "oracle": _OracleReplica,
    "worst-case": _WorstCaseReplica,
    "concurrency": _OpenReplica,
    "engine": _OpenReplica,
    "ceilings": _CeilingReplica,
}
