"""A vLLM on a card, started and stopped as the others are (dev/engine.py)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev.engine import ROOT, Engine
from dev.gpu.cards import VISIBLE
from dev.gpu.vllm import Vllm
from dev.setup_vllm import cache_dir

from barostat.gpus.card import Card

_KEPT = (
    "PATH",
    "LANG",
    "TMPDIR",
    "HOME",
    "USER",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "CC",
    "CXX",
)
_KEPT_FAMILIES = (
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "HIP_",
    "HSA_",
    "ROCR_",
    "ROCM_",
    "RCCL_",
    "PYTORCH_",
    "VLLM_",
)
_LEFT = frozenset({"VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "VLLM_PORT", "VLLM_API_KEY"})
"""What is ours to say, and a key, which our clients do not have."""


def chosen_settings() -> dict[str, str]:
    """What the person who started us set for vLLM itself: it is a part of what is measured. Places
    of this machine are not told.
    """
    return {
        name: value
        for name, value in sorted(_kept().items())
        if name.startswith("VLLM_") and "/" not in value
    }


def _kept() -> dict[str, str]:
    """What of our environment an engine has, too."""
    known = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_FAMILIES)
    }
    return {name: value for name, value in known.items() if name not in _LEFT}


class CardEngine(Engine):
    """A running `vllm serve` on these cards. `model`: a folder. The flags are all of the command
    line that is not said here.
    """

    base_flags = ()

    def __init__(
        self,
        *flags: str,
        vllm: Vllm,
        cards: Sequence[Card],
        model: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is started yet."""
        super().__init__(*flags, model=str(model), env=env)
        self.vllm = vllm
        self.cards = tuple(cards)
        self.version = vllm.version
        self.base_env = chosen_settings()

    @property
    def program(self) -> Path:
        """The `vllm` that is started."""
        return self.vllm.program

    @property
    def places(self) -> dict[str, str]:
        """Folders of this machine that its log may name, and what they are called in a
        recording.
        """
        known = {
            self.model: "/models/tiny",
            str(self.vllm.folder.resolve()): "/opt/vllm",
            str(self.vllm.folder): "/opt/vllm",
            str(ROOT): "/opt/barostat",
            str(self.folder): "/tmp/engine",
            str(cache_dir()): "/root/.cache/barostat",
            os.environ.get("HOME", ""): "/root",
        }
        # A vLLM in /usr/bin stands in no folder of its own.
        return {ours: theirs for ours, theirs in known.items() if len(Path(ours).parts) > 2}

    def environment(self) -> dict[str, str]:
        """Where things are, what is set for the cards and for vLLM, and which cards."""
        shown = ",".join(str(card.index) for card in self.cards)
        return {
            **_kept(),
            # The numbers of the vendor's tool are the order on the bus.
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            VISIBLE[self.cards[0].vendor]: shown,
            "VLLM_CACHE_ROOT": str(cache_dir() / "gpu" / "vllm"),
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(cache_dir() / "gpu" / "torchinductor"),
            **self.own_temporary(),
            **self.env,
        }
