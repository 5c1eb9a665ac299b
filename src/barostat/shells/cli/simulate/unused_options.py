"""Options that cannot act, and files that would be written over: told before a run, in a sentence,
instead of being swallowed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Iterable
from pathlib import Path

from barostat.catalog.polling import FOR_S, INTERVAL_S
from barostat.core.errors import InputError
from barostat.shells.cli.engine_options import OFFERED
from barostat.shells.cli.simulate.from_engine_arguments import LIVE

# Of a running engine that is looked at: the argument, its flag, and what it is where nobody gave
# it.
_LOOK = (("for_s", "--for", FOR_S), ("interval_s", "--interval", INTERVAL_S))
_SEEN = (
    *_LOOK, ("log", "--log", None), ("arrivals", "--arrivals", "auto"), ("clients", "--clients", None), ("namespace", "--namespace", None),
    ("context", "--context", None), ("kubeconfig", "--kubeconfig", None),
)  # fmt: skip


OF_THE_MODEL = tuple(
    setting.name
    for setting in OFFERED
    if not setting.twin and setting.name not in ("block_size", "speculative_config")
)
"""Settings that size the memory of a model, so that they need one."""
_OF_THE_POOL = (
    "gpu_memory_utilization",
    "kv_cache_dtype",
    "kv_cache_memory_bytes",
    "num_gpu_blocks_override",
    "enforce_eager",
    "max_cudagraph_capture_size",
)
"""Those that only size the pool: they change none that was given or seen."""


def refuse_idle(
    arguments: argparse.Namespace, source: str | None, looks: str, acting: Collection[str] = ()
) -> None:
    """Nothing, where every option given can act.

    `source`: the engine or bundle that is looked at, None if none is. `looks`: the flag that
    would name one. `acting`: settings of a model that act here without one.
    Errors: InputError naming the first option that has no effect here, and what it needs.
    """
    if source is None:
        belongs = f"belongs to a running engine; say which with {looks}"
        of_a_trace = arguments.trace is not None
        seen = (one for one in _SEEN if one[0] != "clients" or not of_a_trace)
        _refuse_given(arguments, seen, belongs)
        refuse_idle_engine(arguments, acting=acting)
    elif _is_file(source):
        _refuse_given(
            arguments, _LOOK, f"has no effect on {source}: a bundle is as long as it was recorded"
        )
    if source is not None or arguments.kv_blocks is not None:
        _refuse_given(
            arguments, ((name, f"--{name.replace('_', '-')}", None) for name in _OF_THE_POOL),
            "has no effect on a pool that was seen or given; to see what it would make of it: what-if --set",
        )  # fmt: skip
    if arguments.gpu is not None:
        from barostat.shells.cli.simulate.simulate_inputs import card_of

        card_of(arguments.gpu)
    if arguments.clients is not None and arguments.arrivals == "open":
        raise InputError(
            "wait for their answers, which --arrivals open says they do not; keep one", "--clients"
        )
    if arguments.hash_block_size is not None and arguments.trace is None:
        raise InputError(
            "has no effect without --trace: only its rows have hash_ids", "--hash-block-size"
        )


def refuse_no_time(arguments: argparse.Namespace) -> None:
    """Nothing, where each service level that is given is a time.

    Errors: InputError naming the one that is none.
    """
    for name, value in (("--slo-ttft", arguments.slo_ttft), ("--slo-itl", arguments.slo_itl)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"must be above 0 seconds, not {value:g}", name)


def refuse_idle_engine(
    arguments: argparse.Namespace, candidate: str = "", acting: Collection[str] = ()
) -> None:
    """Nothing, where what the engine is configured with can act without an engine to look at.

    `candidate`: the option that these arguments come from, for a person. `acting`: as above.
    Errors: InputError.
    """
    if arguments.model_config is None:
        for name, flag in (
            ("gpu", "--gpu"),
            *((one, f"--{one.replace('_', '-')}") for one in OF_THE_MODEL),
        ):
            if name not in acting and (value := getattr(arguments, name)) is not None:
                if name == "gpu":
                    from barostat.shells.cli.simulate.simulate_inputs import card_of

                    card_of(value)
                raise InputError(
                    "has no effect without --model-config MODEL", candidate or f"{flag} {value}"
                )
    elif arguments.sliding_window:
        raise InputError(
            "has no effect beside --model-config: the model says which of its layers have a window",
            candidate or "--sliding-window",
        )


def _refuse_given(
    arguments: argparse.Namespace, options: Iterable[tuple[str, str, object]], why: str
) -> None:
    for name, flag, absent in options:
        if getattr(arguments, name) != absent:
            raise InputError(why, flag)


def refuse_live(arguments: argparse.Namespace) -> None:
    """Nothing, where --workload names no engine: what tries changes has an option of its own for
    that.

    Errors: InputError.
    """
    workload = arguments.workload or ""
    if workload.startswith(LIVE):
        raise InputError(
            f"is simulate's; here say --from {workload.removeprefix(LIVE)}",
            f"--workload {workload}",
        )


def _is_file(source: str) -> bool:
    return "://" not in source and Path(source).exists()


def refuse_overwriting(arguments: argparse.Namespace) -> None:
    """Nothing, where no file that is written is one that is read, or written twice.

    Errors: InputError naming both options.
    """
    latency, workload = arguments.latency or "", arguments.workload or ""
    read = (
        ("--trace", arguments.trace),
        ("--limits", arguments.limits),
        ("--model-config", arguments.model_config),
        ("--log", arguments.log),
        ("--latency", latency.removeprefix("from=") if latency.startswith("from=") else None),
        ("--workload", workload.removeprefix(LIVE) if workload.startswith(LIVE) else None),
    )
    taken = [(flag, Path(path)) for flag, path in read if path is not None]
    for flag, path in (("--steps-out", arguments.steps_out), ("--html", arguments.html)):
        if path is None:
            continue
        for other, there in taken:
            if _same(path, there):
                raise InputError(
                    f"is also the file of {other}, which it would write over; name another",
                    f"{flag} {path}",
                )
        taken.append((flag, path))


def _same(one: Path, other: Path) -> bool:
    """True for two names of one file; a device may be written to twice."""
    try:
        if one.exists() and other.exists():
            return one.is_file() and one.samefile(other)
        return one.resolve() == other.resolve()
    except (OSError, RuntimeError):
        return False
