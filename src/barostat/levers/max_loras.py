"""More LoRA adapters run at once.

Meaning: --max-loras is how many adapters one step may use, each with a place on the card.
When: slot-bound by adapters: all places are taken and requests of other adapters wait.
Not when: requests wait for anything else; KV pressure: each place takes memory of the pool.
Undo: restore the former value; drain first.
Proof: deferred requests fall to 0 while several adapters run.
Source: vLLM 0.32.0 Scheduler.schedule (max_loras); LoRAConfig.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.levers._readings import count

NAME = "max-loras"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """As many places as adapters ran and waited at once, or as the engine was started with: it does
    not list an adapter that waits and has never run.
    """
    window = situation.window
    if situation.variant != "adapters":
        return NotApplicable(NAME, Prose("no request waits for an adapter"))
    running, waiting = window.fresh("running_adapters"), window.fresh("waiting_adapters")
    slots = window.config.number("max_loras")
    if running is None or waiting is None or slots is None:
        return NotApplicable(NAME, Prose("the adapters in use were not measured"))
    wanted = max(int(running.high + waiting.high), _started_with(window))
    if wanted <= slots:
        return NotApplicable(NAME, Prose(f"{count(slots)} places are enough for {wanted}"))
    return Proposal(
        NAME,
        SetFlag("max_loras", wanted),
        Prose(
            f"{wanted} adapters are wanted at once and {count(slots)} may run; each place takes "
            "some memory of the KV pool"
        ),
        True,
        20,
    )


def _started_with(window: Window) -> int:
    """Adapters of --lora-modules; 0 where none are named."""
    modules = window.config.get("lora_modules")
    text = "" if modules is None else str(modules.value)
    return text.count('"name"') or len(text.split())


LEVER = Lever(
    NAME,
    Prose("more adapter slots"),
    "supply",
    ("slot-bound",),
    propose,
    sets=SetsFlag("max_loras"),
)
