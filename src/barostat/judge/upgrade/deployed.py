"""The deployment whose version changes, as far as it is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from barostat.catalog.cards import Card
from barostat.catalog.known_regressions import Trait
from barostat.core.config import EngineConfig
from barostat.core.version import EngineVersion
from barostat.judge.sizing.plan import CapacityPlan
from barostat.kv.architecture import Architecture, Chunked, Window
from barostat.kv.quantization import weight_format

_CHOSEN = frozenset(("flag", "environment", "config-file"))
_SIXTEEN_BITS, _EIGHT_BITS = 2, 1


@dataclass(frozen=True, slots=True)
class Deployed:
    """`config`: settings as resolved for `version`. `model_name`: empty if it is not known.
    `before`, `after`: the plans of both versions, None if model or card is not known.
    """

    version: EngineVersion
    config: EngineConfig
    model_name: str = ""
    card: Card | None = None
    before: CapacityPlan | None = None
    after: CapacityPlan | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def model(self) -> Architecture | None:
        """The model's architecture, where it is known."""
        return None if self.before is None else self.before.request.model

    @property
    def gpus(self) -> int:
        """GPUs of one engine, as the settings say."""
        tp, pp = (
            self.config.number(name) or 1
            for name in ("tensor_parallel_size", "pipeline_parallel_size")
        )
        return int(tp * pp)

    def is_chosen(self, name: str) -> bool:
        """True if a person set this setting, so that a default does not act."""
        found = self.config.get(name)
        return found is not None and found.provenance in _CHOSEN

    def traits(self) -> frozenset[Trait] | None:
        """What the model is made of; None if its architecture is not known."""
        model = self.model
        if model is None or self.before is None:
            return None
        found: set[Trait] = set()
        if model.fields.integer("num_experts", 0):
            found.add("experts")
        if model.keeps_state:
            found.add("states")
        if any(isinstance(cache, Window | Chunked) for layer in model.layers for cache in layer):
            found.add("window")
        asked = self.config.get("quantization")
        form = weight_format(
            model.config,
            model.text,
            None if asked is None else str(asked.value),
            self.before.flags.dtype,
            self.model_name,
        )
        return frozenset(found | _format_traits(form.name, form.quantized_bytes))


def _format_traits(name: str, stored_bytes: float) -> set[Trait]:
    if "nvfp4" in name:
        return {"nvfp4"}
    if stored_bytes >= _SIXTEEN_BITS:
        return {"16-bit"}
    return {"8-bit"} if stored_bytes >= _EIGHT_BITS else set()
