"""A gate to try things on: a ledger, its rules, and a clock that is moved by hand."""

from __future__ import annotations

from barostat.admit import gate
from barostat.admit.asked import AskedRequest
from barostat.admit.decision import Admitted, Decision, Queued, Refused
from barostat.admit.ledger import Ledger
from barostat.admit.replica_news import Pool
from barostat.admit.rules import Rules, TenantRule

Where = tuple[str, ...]
A: Where = ("r1",)
B: Where = ("r0",)
"""Where requests of the one and of the other model may not go."""


class Gate:
    """`replicas` pools of `kv_tokens`. Mutable."""

    def __init__(
        self,
        rules: Rules | None = None,
        kv_tokens: int = 10_000,
        replicas: int = 1,
        slots: int = 1024,
    ) -> None:
        self.rules = rules or Rules(queue_deadline_s=10.0)
        self.ledger = Ledger()
        self.at = 0.0
        for number in range(replicas):
            gate.joined(self.ledger, f"r{number}", Pool(kv_tokens, 16, slots, 8192), self.at)

    def ask(
        self, tokens: int = 100, limit: int | None = 100, tenant: str = "", **more: object
    ) -> Decision:
        """A request of so many exact tokens now."""
        asked = AskedRequest(self.at, tokens, "exact", limit, tenant, **more)  # type: ignore[arg-type]
        return gate.decide(asked, self.ledger, self.rules, self.at)

    def admit(
        self, tokens: int = 100, limit: int | None = 100, tenant: str = "", **more: object
    ) -> Admitted:
        """The same, which must be admitted."""
        decision = self.ask(tokens, limit, tenant, **more)
        assert isinstance(decision, Admitted), decision
        return decision

    def queue(
        self, tokens: int = 100, limit: int | None = 100, tenant: str = "", **more: object
    ) -> Queued:
        """The same, which must wait."""
        decision = self.ask(tokens, limit, tenant, **more)
        assert isinstance(decision, Queued), decision
        return decision

    def end(self, number: int, tokens: int | None = None, ended: gate.Ended = "stop") -> bool:
        """The answer has ended."""
        return gate.returned(self.ledger, number, self.at, ended, None, tokens)

    def due(self) -> list[Admitted | Refused]:
        """What is due now."""
        return gate.due(self.ledger, self.rules, self.at)

    def served(self, running: list[int], turns: int) -> list[int]:
        """What is admitted in so many seconds, in each of which the oldest that runs ends with 100
        tokens; `running` follows.
        """
        found: list[int] = []
        for _ in range(turns):
            self.at += 1.0
            self.end(running.pop(0), 100)
            for one in self.due():
                assert isinstance(one, Admitted)
                running.append(one.reservation)
                found.append(one.reservation)
        return found

    def taught(
        self,
        tokens: int = 100,
        answers: int = 200,
        prompt: int = 100,
        limit: int = 100,
        for_s: float = 1.0,
    ) -> Gate:
        """This gate, after so many answers of that length, each of which stayed so long."""
        for _ in range(answers):
            one = self.admit(prompt, limit)
            self.at += for_s
            gate.produced(self.ledger, one.reservation, tokens, self.at)
            assert self.end(one.reservation, tokens)
        return self


def tenants(**shares: float) -> Rules:
    """Rules with tenants of these shares."""
    named = {name: TenantRule(name, share) for name, share in shares.items()}
    return Rules(queue_deadline_s=1000.0, tenants=named, tenants_closed=True)


def two_models(rules: Rules | None = None, kv_tokens: int = 1000) -> Gate:
    """An engine of each."""
    tried = Gate(rules, kv_tokens, replicas=2)
    gate.alike(tried.ledger, {"r0": "a", "r1": "b"})
    return tried
