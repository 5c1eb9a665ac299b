"""What a person asks for as `--lever NAME` or `NAME=VALUE`, read and checked before anything is
looked at.

max-num-seqs=48, enable-prefix-caching, no-enable-prefix-caching   an argument of vLLM; a switch may
go without its value
VLLM_CPU_KVCACHE_SPACE=8                                           a variable of the engine
replicas=3, scale-out=3                                            that many replicas
edge-input-cap=400                                                 a limit of the limits file
host-memory-limit=3Gi, shm-size=1Gi                                an amount of memory of the pod
watermark, scale-out, undo-rollout                                 a lever of the diagnosis, with the diagnosis' value

Whether the engine's version has the argument is known after the look, and is a check of the plan.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from barostat.catalog.settings.other_arguments import LISTS, SWITCHES
from barostat.catalog.settings.table import ALIASES, SETTINGS, bounds_of, is_switch
from barostat.core.errors import InputError
from barostat.engines.vllm.command_line.config import read_value
from barostat.levers import levers
from barostat.platform.objects import quantity
from barostat.platform.template_diff import shown

LIMITS = {
    "edge-input-cap": "request.maxInputTokens",
    "edge-output-cap": "request.maxOutputTokens",
    "edge-admission-budget": "edge.kvTokenBudget",
}
"""The levers at the edge, and the limit that each sets."""

_MEMORY = ("host-memory-limit", "shm-size")
_FLAG_OF = {
    "chunked-prefill-on": "enable-chunked-prefill",
    "gpu-memory-utilization-down": "gpu-memory-utilization",
    "gpu-memory-utilization-up": "gpu-memory-utilization",
    "graph-capture-less": "max-cudagraph-capture-size",
    "prefix-caching-on": "enable-prefix-caching",
    "queue-bounds": "max-num-queued-reqs",
    "raise-max-num-seqs": "max-num-seqs",
    "tensor-parallel-up": "tensor-parallel-size",
}
_NAME = re.compile(r"-{0,2}[A-Za-z][\w.-]*")
_VARIABLE = re.compile(
    r"(?:VLLM|NCCL|RCCL|GLOO|UCX|CUDA|NVIDIA|HIP|HSA|ROCR|ROCM|PYTORCH|TORCH|TORCHINDUCTOR|TRITON|FLASHINFER|HF|TRANSFORMERS|TOKENIZERS"
    r"|OMP|MKL|KMP|RAY)_[A-Z0-9_]+"
)
_LARGEST = 2**31 - 1
_MIB, _TIB = 2**20, 2**40

Kind = Literal["lever", "argument", "environment", "replicas", "limits", "memory"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One change by name. `name`: a lever's, an argument's with dashes, a variable's, or
    `replicas`; `value`: as it will be written, None where the diagnosis or the switch tells it.
    """

    kind: Kind
    name: str
    value: str | None = None


def asked_lever(text: str) -> Asked:
    """The change that `NAME` or `NAME=VALUE` asks for.

    Errors: InputError for a name that is none, a value that it does not take, and a value that is
    missing.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{_told(text)} names no change: NAME=VALUE is wanted (max-num-seqs=48), or "
            "the name of a lever",
            "--lever",
        )
    given = value if equals else None
    bare = name.lstrip("-").replace("_", "-").lower()
    if name.isupper() and not name.startswith("-"):
        return _variable(name, given)
    if given is not None and (not given or not given.isprintable()):
        raise _wrong(
            bare,
            f"has nothing behind the =; it takes {_takes(name, bare)}"
            if not given
            else f"takes one line, not {_told(given)}",
        )
    flag = _argument(name)
    if given is None and bare in _levers():
        return Asked("lever", bare)
    if flag:
        return _flag(flag, given, negated=bare.startswith("no-") and bare[3:] == flag)
    if bare in _levers() or bare == "replicas":
        return _lever(bare, given)
    close = difflib.get_close_matches(bare, _names(), n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(close)}?" if close else "`barostat explain` lists the levers"
    raise _wrong(_told(name), f"is no lever, and no argument of vLLM that is known here: {hint}")


def known_argument(name: str) -> bool:
    """True if the catalogue has the argument in that spelling, whichever versions have it."""
    return bool(_argument(name))


def _argument(spelled: str) -> str:
    """vLLM's own name with dashes; empty for what is no argument. `no-` before a switch is left
    off.
    """
    if spelled.startswith("-") and not spelled.startswith("--"):
        return ALIASES.get(spelled, "").replace("_", "-")
    name = spelled.removeprefix("--").replace("-", "_").lower()
    positive = name.removeprefix("no_")
    for found in (name, positive if is_switch(positive) else ""):
        if found in SETTINGS or found in SWITCHES or found in LISTS:
            return found.replace("_", "-")
    return ALIASES.get(name, "").replace("_", "-")


@cache
def _levers() -> frozenset[str]:
    return frozenset(lever.name for lever in levers())


@cache
def _names() -> tuple[str, ...]:
    known = {name.replace("_", "-") for name in (*SETTINGS, *SWITCHES)}
    return tuple(sorted(known | _levers() | {"replicas"}))


def _flag(option: str, given: str | None, *, negated: bool) -> Asked:
    name = option.replace("-", "_")
    if negated:
        if given is not None:
            raise _wrong(f"no-{option}", f"takes no value: no-{option} alone switches it off")
        return Asked("argument", f"no-{option}")
    if name in LISTS or (name in SETTINGS and SETTINGS[name].kind == "list"):
        raise _wrong(option, "takes a list, which is not set from here: change it in the manifest")
    if given is None:
        if is_switch(name):
            return Asked("argument", option)
        raise _wrong(
            option, f"is no lever of the diagnosis, so it needs a value: {_takes(option, option)}"
        )
    value = _written(name, given)
    if value is None:
        raise _wrong(option, f"takes {_takes(option, option)}, not {_told(given)}")
    return Asked("argument", option, value)


def _written(name: str, given: str) -> str | None:
    """The value as it goes to the command line; None for what the argument does not take."""
    if is_switch(name):
        return given.lower() if given.lower() in ("true", "false") else None
    value, numbers = read_value(name, given), bounds_of(name)
    if numbers is not None:
        if value == -1 and SETTINGS[name].kind == "length":
            return given.lower()
        if not isinstance(value, int | float) or value not in numbers:
            return None
        return str(value) if isinstance(value, int) else given
    if name in SETTINGS and SETTINGS[name].choices:
        return given if given in SETTINGS[name].choices else None
    if name in SETTINGS and SETTINGS[name].kind == "json":
        try:
            json.loads(given)
        except ValueError:
            return None
    return given


def _takes(spelled: str, bare: str) -> str:
    """What the name takes as its value, for a sentence."""
    name = (_argument(spelled) or bare).replace("-", "_")
    if is_switch(name):
        return "true or false"
    if name in SETTINGS and (choices := SETTINGS[name].choices):
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    if (numbers := bounds_of(name)) is not None:
        if SETTINGS[name].kind != "float":
            return (
                "a whole number "
                f"{numbers}{' (4k and 4K as vLLM reads them), or auto' if SETTINGS[name].kind == 'length' else ''}"
            )
        return f"a number {numbers}{' (a share: 0.9 is 90 %)' if numbers.most == 1 else ''}"
    if name in SETTINGS:
        return "JSON" if SETTINGS[name].kind == "json" else "a text"
    if bare in _MEMORY:
        return "an amount of memory from 1Mi up to 64Ti, such as 3Gi"
    if bare in LIMITS or bare in ("replicas", "scale-out"):
        return f"a whole number from 1 up to {_LARGEST:,}"
    return "no value" if bare in _levers() else "a value"


def _lever(name: str, given: str | None) -> Asked:
    """A lever of the diagnosis that is no argument, with the value that a person gives."""
    if given is None:
        raise _wrong(name, f"needs a value: {_takes(name, name)}; scale-out alone adds one")
    if name in _MEMORY:
        amount = (
            quantity(given)
            if re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?(?:[kMGT]|[KMGT]i)?", given)
            else None
        )
        if amount is None or not _MIB <= amount <= 64 * _TIB:
            raise _wrong(name, f"takes {_takes(name, name)}, not {_told(given)}")
        return Asked("memory", name, given)
    if name in LIMITS or name in ("replicas", "scale-out"):
        number = int(given) if re.fullmatch(r"[0-9]{1,12}", given) else 0
        if not 1 <= number <= _LARGEST:
            where = (
                f" (it is spec.{LIMITS[name]} of the limits, which a gateway holds)"
                if name in LIMITS
                else ""
            )
            raise _wrong(name, f"takes {_takes(name, name)}{where}, not {_told(given)}")
        return (
            Asked("limits", name, str(number))
            if name in LIMITS
            else Asked("replicas", "replicas", str(number))
        )
    instead = (
        f"; --lever {_FLAG_OF[name]}={given} sets the argument"
        if name in _FLAG_OF and _fits(_FLAG_OF[name], given)
        else ""
    )
    raise _wrong(name, f"takes no value, the diagnosis tells it: --lever {name}{instead}")


def _fits(option: str, given: str) -> bool:
    return _written(option.replace("-", "_"), given) is not None


def _variable(name: str, given: str | None) -> Asked:
    if not _VARIABLE.fullmatch(name):
        flag = _argument(name)
        hint = (
            f": the argument is {flag}"
            if flag
            else " (VLLM_..., NCCL_..., CUDA_..., PYTORCH_..., HF_..., OMP_... are)"
        )
        raise _wrong(name, f"is no variable that an engine reads{hint}")
    if not given:
        raise _wrong(name, f"needs a value: --lever {name}=VALUE")
    if shown(name, "x") != "x":
        raise _wrong(
            name, "is a secret, which is not set from here: change the Secret that the pods read"
        )
    if not given.isprintable() or shown(name, given) != given:
        raise _wrong(name, f"takes one line of at most 120 characters, not {_told(given)}")
    if name == "VLLM_CPU_KVCACHE_SPACE" and not re.fullmatch(r"[0-9]{1,6}", given):
        raise _wrong(name, f"takes a whole number of GiB, not {_told(given)}")
    return Asked("environment", name, given)


def _told(given: str) -> str:
    return repr(given if len(given) <= 60 else given[:57] + "...")


def _wrong(name: str, what: str) -> InputError:
    return InputError(what, f"--lever {name}")
