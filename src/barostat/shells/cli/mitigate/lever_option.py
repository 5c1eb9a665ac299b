"""`--lever NAME` or `NAME=VALUE` of mitigate, read and checked before anything is looked at.

    max-num-seqs=48, enable-prefix-caching, no-enable-prefix-caching   an argument of vLLM; a switch
                                                                       may go without its value
    VLLM_CPU_KVCACHE_SPACE=8                                           a variable of the engine
    replicas=3, scale-out=3                                            that many replicas
    edge-input-cap=400                                                 a limit of the limits file
    host-memory-limit=3Gi, shm-size=1Gi                                an amount of the pod's memory
    watermark, scale-out, undo-rollout                                 a lever, with the diagnosis'
                                                                       value

Whether the engine's version has the argument is known after the look, and is a check of the plan.
"""

from __future__ import annotations

import difflib
import json
import re
from functools import cache

from barostat.catalog.option_names import known_argument
from barostat.catalog.settings.other_arguments import LISTS, SWITCHES
from barostat.catalog.settings.table import SETTINGS, bounds_of, is_switch
from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.core.lever import Lever, SetsEdgeLimit, SetsFlag, SetsMemory, SetsReplicas
from barostat.core.proposed_change import (
    EditPodSpec,
    Scale,
    SetEdgeLimit,
    SetEnvironment,
    SetFlag,
)
from barostat.engines.vllm.command_line.config import read_value
from barostat.judge.mitigation.requested_lever import Requested, RequestedChange, RequestedLever
from barostat.levers import levers
from barostat.platform.objects import quantity
from barostat.platform.template_diff import shown

_NAME = re.compile(r"-{0,2}[A-Za-z][\w.-]*")
_VARIABLE = re.compile(
    r"(?:VLLM|NCCL|RCCL|GLOO|UCX|CUDA|NVIDIA|HIP|HSA|ROCR|ROCM|PYTORCH|TORCH|TORCHINDUCTOR|TRITON|FLASHINFER|HF|TRANSFORMERS|TOKENIZERS"
    r"|OMP|MKL|KMP|RAY)_[A-Z0-9_]+"
)
_AMOUNT = re.compile(r"\d{1,15}(?:\.\d{1,9})?(?:[kMGT]|[KMGT]i)?")
_LARGEST = 2**31 - 1
_MIB, _TIB = 2**20, 2**40


def requested(text: str) -> Requested:
    """The lever or change that `NAME` or `NAME=VALUE` asks for.

    Errors: InputError for a name that is none, a value that it does not take, and a value that is
    missing.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{_quoted(text)} names no change: give NAME=VALUE (max-num-seqs=48) or the name of a "
            "lever",
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
            else f"takes one line, not {_quoted(given)}",
        )
    argument = known_argument(name)
    lever = _levers().get(bare)
    if lever is not None and given is None:
        return RequestedLever(bare)
    if argument:
        return _flag(argument, given, negated=bare == f"no-{_dashed(argument)}")
    if lever is not None and given is not None:
        return _lever(lever, given)
    if bare == "replicas":
        return _replicas(bare, given)
    close = difflib.get_close_matches(bare, _names(), n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(close)}?" if close else "`barostat explain` lists the levers"
    raise _wrong(_quoted(name), f"is no lever, and no argument of vLLM that is known here: {hint}")


@cache
def _levers() -> dict[str, Lever]:
    return {lever.name: lever for lever in levers()}


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted({*map(_dashed, (*SETTINGS, *SWITCHES)), *_levers(), "replicas"}))


def _flag(name: str, given: str | None, *, negated: bool) -> RequestedChange:
    option = _dashed(name)
    if negated:
        if given is not None:
            raise _wrong(f"no-{option}", f"takes no value: no-{option} alone switches it off")
        return RequestedChange(f"no-{option}", SetFlag(name, False))
    if name in LISTS or (name in SETTINGS and SETTINGS[name].kind == "list"):
        raise _wrong(option, "takes a list, which is not set from here: change it in the manifest")
    if given is None:
        if is_switch(name):
            return RequestedChange(option, SetFlag(name, True))
        raise _wrong(
            option, f"is no lever of the diagnosis, so it needs a value: {_takes(option, option)}"
        )
    value = _read(name, given)
    if value is None:
        raise _wrong(option, f"takes {_takes(option, option)}, not {_quoted(given)}")
    return RequestedChange(option, SetFlag(name, value))


def _read(name: str, given: str) -> ConfigScalar | None:
    """The value; None for one that the argument does not take."""
    if is_switch(name):
        return {"true": True, "false": False}.get(given.lower())
    value, numbers = read_value(name, given), bounds_of(name)
    if numbers is not None:
        if value == -1 and SETTINGS[name].kind == "length":
            return given.lower()
        in_range = isinstance(value, int | float) and value in numbers
        return value if in_range else None
    if name in SETTINGS and (choices := SETTINGS[name].choices):
        return given if given in choices else None
    if name in SETTINGS and SETTINGS[name].kind == "json":
        try:
            json.loads(given)
        except ValueError:
            return None
    return given


def _takes(spelled: str, bare: str) -> str:
    """What the name takes as its value, for a sentence."""
    name = known_argument(spelled) or bare.replace("-", "_")
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
    lever = _levers().get(bare)
    if lever is not None and isinstance(lever.sets, SetsMemory):
        return "an amount of memory from 1Mi up to 64Ti, such as 3Gi"
    if bare == "replicas" or (
        lever is not None and isinstance(lever.sets, SetsEdgeLimit | SetsReplicas)
    ):
        return f"a whole number from 1 up to {_LARGEST:,}"
    return "no value" if lever is not None else "a value"


def _lever(lever: Lever, given: str) -> RequestedChange:
    """A lever of the diagnosis that is no argument, with the value that a person gives."""
    match lever.sets:
        case SetsMemory(edit):
            amount = quantity(given) if _AMOUNT.fullmatch(given) else None
            if amount is None or not _MIB <= amount <= 64 * _TIB:
                raise _wrong(
                    lever.name, f"takes {_takes(lever.name, lever.name)}, not {_quoted(given)}"
                )
            return RequestedChange(lever.name, EditPodSpec(edit(given)))
        case SetsEdgeLimit(limit):
            where = f" (it is spec.{limit} of the limits, which a gateway holds)"
            tokens = _whole(lever.name, given, where)
            return RequestedChange(lever.name, SetEdgeLimit(limit, tokens))
        case SetsReplicas():
            return _replicas(lever.name, given)
        case SetsFlag(name):
            option = _dashed(name)
            fits = _read(name, given) is not None
            instead = f"; --lever {option}={given} sets the argument" if fits else ""
        case None:
            instead = ""
    raise _wrong(
        lever.name, f"takes no value, the diagnosis tells it: --lever {lever.name}{instead}"
    )


def _replicas(name: str, given: str | None) -> RequestedChange:
    if given is None:
        raise _wrong(name, f"needs a value: {_takes(name, name)}; scale-out alone adds one")
    return RequestedChange("scale-out", Scale(_whole(name, given)))


def _whole(name: str, given: str, where: str = "") -> int:
    number = int(given) if re.fullmatch(r"[0-9]{1,12}", given) else 0
    if not 1 <= number <= _LARGEST:
        raise _wrong(name, f"takes {_takes(name, name)}{where}, not {_quoted(given)}")
    return number


def _variable(name: str, given: str | None) -> RequestedChange:
    if not _VARIABLE.fullmatch(name):
        argument = known_argument(name)
        hint = (
            f": the argument is {_dashed(argument)}"
            if argument
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
        raise _wrong(name, f"takes one line of at most 120 characters, not {_quoted(given)}")
    if name == "VLLM_CPU_KVCACHE_SPACE" and not re.fullmatch(r"[0-9]{1,6}", given):
        raise _wrong(name, f"takes a whole number of GiB, not {_quoted(given)}")
    return RequestedChange(name, SetEnvironment(((name, given),)))


def _quoted(given: str) -> str:
    return repr(given if len(given) <= 60 else given[:57] + "...")


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _wrong(name: str, what: str) -> InputError:
    return InputError(what, f"--lever {name}")
