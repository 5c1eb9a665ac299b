"""One request that is admitted or waits, as the ledger keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barostat.admit.asked import AskedRequest
from barostat.admit.lengths import LengthClass

if TYPE_CHECKING:
    from barostat.admit.held_forecast import ReplicaLedger
    from barostat.admit.rules import ClassRule
    from barostat.admit.tenants import TenantLedger, Turn


class Reservation:
    """Mutable: the ledger owns it.

    `prompt_tokens`: what its prompts hold. `produced`: of one sequence, as heard at `heard_at`.
    `cap`: most that one sequence produces, `output_cap` what is in force of it (None: nothing but
    the model's length), `capped` if the gateway has to write it into the body. `charge`: tokens
    charged to its tenant, what it is expected to come to. `turn`: its tenant's in its line;
    `turns`: those that count it while it runs, of each line that its replica is of. `replica`: None
    while it waits. `priority_class`: None where the limits name none; `rank`: its place among them,
    0 for the most important. `row`, `held`: what the replica's forecast has of it (chances by horizon; tokens
    held).
    """

    __slots__ = (
        "admitted_at", "cap", "capped", "charge", "deadline_at", "heard_at", "held", "lengths", "number", "output_cap",
        "priority_class", "produced", "prompt_tokens", "rank", "replica", "request", "row", "tenant", "turn", "turns", "waits",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        request: AskedRequest,
        turn: Turn,
        lengths: LengthClass,
        prompt_tokens: int,
        cap: int,
        charge: float,
    ) -> None:
        self.number = number
        self.request = request
        self.turn = turn
        self.tenant: TenantLedger = turn.tenant
        self.turns: list[Turn] = []
        self.lengths = lengths
        self.prompt_tokens = prompt_tokens
        self.cap = cap
        self.priority_class: ClassRule | None = None
        self.rank = 0
        self.output_cap: int | None = None
        self.capped = False
        self.charge = charge
        self.deadline_at = 0.0
        self.admitted_at = 0.0
        self.heard_at = 0.0
        self.produced = 0
        self.waits = False
        self.replica: ReplicaLedger | None = None
        self.held = 0.0
        self.row: tuple[float, ...] = ()
