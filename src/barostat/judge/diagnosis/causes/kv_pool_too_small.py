"""The engine refuses to start: the KV pool that is left cannot hold even one request of the model's
length.

Meaning: after weights, activations and graphs too little memory is left: none at all (no-blocks),
less than one sequence of max_model_len needs (length), or fewer state blocks than max_num_seqs
(states, hybrid models).

Impact: the pod never becomes Ready.

Evidence: the engine's own error, with the length it needs, the memory it has, and often the length
that would fit.

Not evidence: a launch that succeeded with a warning; GPU out of memory (another error, another
remedy).

Mitigation: the length that fits (the log names it), more memory for the pool (utilisation, fp8 KV
cache, more cards), a smaller or quantised model; for states fewer sequences.

Source: vLLM 0.32.0 kv_cache_utils.check_enough_kv_cache_memory; the V0 wording up to 0.10.2.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open

KINDS = (
    ("states-exceeded", "states"),
    ("model-too-long", "length"),
    ("no-cache-blocks", "no-blocks"),
)


def judge(case: Case) -> Judgement:
    """Claim where the log names the shortage."""
    for name, variant in KINDS:
        if case.present(name):
            return Claim(
                confidence=case.confidence(name) * 0.98,
                severity="critical",
                summary=f"The KV pool is too small to start: {case.because(name)}.",
                rests_on=(
                    name,
                    *case.present("engine-died", "foreign-gpu-memory", "crash-looping"),
                ),
                variant=variant,
            )
    if case.absent("model-too-long", "no-cache-blocks"):
        return Cleared("the log shows no start that failed for lack of KV memory")
    return Open("no log was given", case.missing("model-too-long", "no-cache-blocks"))


CAUSE = Cause("kv-pool-too-small", "Not enough KV memory to start at all", 3, judge)
