"""Every argument has a value that this engine takes.

Meaning: a value is out of range, two settings contradict each other, or a port is taken.
When: the log says that a setting was refused, or the resolved configuration contradicts itself.
Not when: the argument is unknown as a whole (remove it), or the model cannot be had.
Undo: restore the former value.
Proof: the engine gets past its arguments and listens.
Source: vLLM 0.32.0 SchedulerConfig (max_num_batched_tokens at least max_num_seqs), ParallelConfig,
LoRAConfig (MaxLoRARanks; 0.11.0 lacks 1; LoRAConfig of older ones ended at 64, later ones at 256).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import (
    Advise,
    EditPodSpec,
    ProposedChange,
    SetFlag,
    SetServiceLinks,
)
from barostat.core.prose import Prose
from barostat.core.version import EngineVersion
from barostat.core.visible import cut
from barostat.levers._readings import count, detail_of, number_in

NAME = "fix-argument"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The valid value if the log line shows it; else the line itself."""
    window = situation.window
    taken = situation.variant in ("pod", "argument", "") and not detail_of(
        window, "log_broken_install", "log_storage_refused"
    )
    if taken and (port := detail_of(window, "log_port_in_use")):
        now = int(number_in(r"\bport:? (\d+)", port) or window.config.number("port") or 8000)
        change: ProposedChange = SetFlag("port", now + 1)
        if window.pod:
            instruction = (
                f"{now + 1} in the place of {now}, all at once: --port, containerPort, the "
                "probes, the Service's targetPort"
            )
            change = Advise(Prose(instruction))
        return Proposal(NAME, change, Prose(f"port {now} is taken by another process"), True, 20)
    if situation.variant not in ("argument", ""):
        return NotApplicable(NAME, Prose("no value of an argument was refused"))
    sure = all(
        found is not None and found.certain
        for found in map(window.config.get, ("max_num_seqs", "max_num_batched_tokens"))
    )
    seqs, budget = (
        window.config.number(name) if sure else None
        for name in ("max_num_seqs", "max_num_batched_tokens")
    )
    if seqs is not None and budget is not None and budget < seqs:
        why = f"it is {count(budget)} and must be at least max_num_seqs, {count(seqs)}"
        return Proposal(
            NAME, SetFlag("max_num_batched_tokens", max(2048, int(seqs))), Prose(why), True, 20
        )
    line = detail_of(window, "log_invalid_config", "log_unknown_argument")
    if not line or "unrecognized arguments" in line:
        return NotApplicable(NAME, Prose("the log does not quote a refused value"))
    if "appears to be a URI" in line:
        why = (
            "a Service named vllm gives its pods VLLM_PORT=tcp://..., which is vLLM's own "
            "variable; or give the Service another name"
        )
        return Proposal(NAME, EditPodSpec(SetServiceLinks(enabled=False)), Prose(why), True, 20)
    length = number_in(r"derived max_model_len \([^)]*?(\d+)", line) or number_in(
        r"max_position_embeddings=(\d+)", line
    )
    if length is not None and "max_model_len" in line:
        return Proposal(
            NAME,
            SetFlag("max_model_len", int(length)),
            Prose(f"the model's own length is {count(length)}"),
            True,
            20,
        )
    if (parallel := _fitting_parallel_size(line)) is not None:
        return parallel
    if _GAVE_UP.search(line):
        return _longer_wait(line, window.version)
    if (rank := _fitting_rank(line, window.version)) is not None:
        return rank
    for pattern, change_of, why in _SAID:
        if match := pattern.search(line):
            return Proposal(NAME, change_of(match), Prose(match.expand(why)), True, 20)
    argument = re.search(r"argument (--[\w-]+)", line)
    named = argument[1] if argument else "the setting"
    return Proposal(
        NAME,
        Advise(Prose(f"correct {named}: {cut(line, 160)}")),
        Prose("the engine refused this value, and says why in the line quoted"),
        True,
        21,
    )


def _advice(instruction: str) -> Callable[[re.Match[str]], ProposedChange]:
    return lambda match: Advise(Prose(match.expand(instruction)))


_SAID: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], ProposedChange], str], ...] = tuple(
    (re.compile(pattern), change_of, why)
    for pattern, change_of, why in (
        (
            "trust_remote_code",
            _advice(
                "read the code that the model brings; then --trust-remote-code, and --revision for the commit that was read"
            ),
            "the model brings code of its own, which would run in the engine with all that the engine may do",
        ),
        (
            "Bfloat16 is only supported",
            lambda _: SetFlag("dtype", "half"),
            "this card cannot compute in bfloat16",
        ),
        (
            r"max_num_batched_tokens \(\d+\) is smaller than max_model_len \((\d+)\)",
            lambda match: SetFlag("max_num_batched_tokens", int(match[1])),
            r"without chunked prefill a step has to hold a whole prompt, of up to \1 tokens",
        ),
        (
            r"World size \((\d+)\) is larger than the number of available GPUs \((\d+)\)",
            _advice(
                r"resources: {limits: {nvidia.com/gpu: \1}}; or a smaller "
                r"--tensor-parallel-size (times the other parallel sizes at most \2)"
            ),
            r"the parallel sizes ask for \1 cards, and the engine sees \2",
        ),
        (
            "Cannot provide a placement group|number of required GPUs exceeds",
            _advice("ray status; then add the nodes that are missing, or smaller parallel sizes"),
            "the Ray cluster does not have as many free cards as the parallel sizes ask for",
        ),
        (
            "placement group of specs|Ray does not allocate any",
            _advice(
                "ray status; then free or add cards, one of them on the node that starts the engine, or smaller parallel sizes"
            ),
            "the Ray cluster does not have the cards that the engine waits for",
        ),
        (
            "unique IP address",
            _advice("env: VLLM_HOST_IP on each node, the address by which Ray knows it"),
            "two nodes of the Ray cluster give the same address, or one gives two",
        ),
        (
            r"custom_all_reduce\.cuh",
            lambda _: SetFlag("disable_custom_all_reduce", True),
            "vLLM's own all-reduce is refused the other cards' memory; without it NCCL does the work",
        ),
        (
            r"(\S{1,120}) is unsupported LoRA weight|expected target modules in",
            _advice(
                "an adapter with nothing but low-rank weights of modules that this model has (merge the others into the model)"
            ),
            "the adapter holds weights that this engine cannot apply",
        ),
        (
            "requires --tool-call-parser",
            _advice("--tool-call-parser <the model's>"),
            "--enable-auto-tool-choice needs to know how the model writes calls",
        ),
    )
)
"""Log lines that name the accepted value: a pattern, the change, and the reason."""

_INDIVISIBLE = re.compile(
    r"(\d{1,9})\)?,? (?:is not|must be|should be) (?:evenly )?divisible by (?:the )?"
    r"(?:tensor[ _-](?:model[ _-])?parallel[ _-]size )?\(?(\d{1,9})"
)


def _fitting_parallel_size(line: str) -> Proposal | None:
    """The next smaller tensor-parallel size that divides what has to be divided, where that is what
    the line says.
    """
    match = _INDIVISIBLE.search(line)
    if match is None:
        return None
    whole, size = int(match[1]), int(match[2])
    fits = [
        candidate for candidate in (16, 8, 4, 2, 1) if candidate < size and whole % candidate == 0
    ]
    if not fits:
        return None
    return Proposal(
        NAME,
        SetFlag("tensor_parallel_size", fits[0]),
        Prose(f"{whole} cannot be divided by {size}"),
        True,
        20,
    )


_GAVE_UP = re.compile(r"Timed out waiting for engine(?:s to send| core processes)")
_WAIT_SET_SINCE, _WAIT_S = "0.12.0", 600


def _longer_wait(line: str, version: EngineVersion | None) -> Proposal:
    """Six times as long as the server waited; where the version has no such setting, a quicker
    start.
    """
    waited = number_in(r"Waited (\d+)s", line) or float(_WAIT_S)
    why = (
        f"the server gave its engine {waited:.0f} s to start; if the log stands still before "
        "the weights, a rank hangs and no wait helps"
    )
    change = (
        f"env: [{{name: VLLM_ENGINE_READY_TIMEOUT_S, value: '{6 * waited:.0f}'}}]; or the "
        "weights on faster storage"
    )
    if "VLLM_ENGINE_READY_TIMEOUT_S" in line or (
        version is not None and version.at_least(_WAIT_SET_SINCE)
    ):
        return Proposal(NAME, Advise(Prose(change)), Prose(why), True, 20)
    if version is None:
        return Proposal(
            NAME,
            Advise(Prose(f"if this version takes it (vLLM {_WAIT_SET_SINCE} does): {change}")),
            Prose(why),
            True,
            20,
        )
    return Proposal(
        NAME,
        Advise(
            Prose(
                f"the weights on faster storage; or vLLM {_WAIT_SET_SINCE}, which can wait longer"
            )
        ),
        Prose(why),
        True,
        20,
    )


_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
_RANKS_OF_ALL_VERSIONS, _ALL_RANKS_SINCE = 64, "0.11.0"
_RANK = re.compile(
    r"LoRA rank (\d{1,9}) is greater than max_lora_rank (\d{1,9})|max_lora_rank \((\d{1,9})\) must be one of \(([\d, ]+)\)"
)


def _fitting_rank(line: str, version: EngineVersion | None) -> Proposal | None:
    """The least rank that the engine takes and the adapter fits into, where the line is about
    ranks.
    """
    match = _RANK.search(line)
    if match is None:
        return None
    rank, ranks = (
        int(match[1] or match[3]),
        tuple(map(int, re.findall(r"\d+", match[4] or ""))) or _RANKS,
    )
    fits = next((one for one in ranks if one >= rank), None)
    why = (
        f"the adapter has rank {rank}, and {match[2]} is allowed"
        if match[1]
        else f"{rank} is none of {match[4]}"
    )
    if fits is None:
        return Proposal(
            NAME,
            Advise(
                Prose(
                    f"an adapter of rank {ranks[-1]} or less: no --max-lora-rank is as high as this one"
                )
            ),
            Prose(why),
            True,
            20,
        )
    if (
        match[4]
        or fits <= _RANKS_OF_ALL_VERSIONS
        or (version is not None and version.at_least(_ALL_RANKS_SINCE))
    ):
        return Proposal(NAME, SetFlag("max_lora_rank", fits), Prose(why), True, 20)
    return Proposal(
        NAME,
        Advise(
            Prose(f"if this version takes it (older ones end at 64 or 256): --max-lora-rank {fits}")
        ),
        Prose(why),
        True,
        20,
    )


LEVER = Lever(NAME, Prose("correct a refused value"), "manifest", ("bad-config",), propose)
