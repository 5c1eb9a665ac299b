"""How well the plan agrees with what real engines logged at start-up.

    python bench/sizing.py CASES.jsonl --configs DIR --out FILE.jsonl [--report FILE.md] [--quality
    A]

Part 1: given the available KV memory that a row states, its tokens and concurrency. Part 2: given
only model, card, flags and version, the available KV memory itself; also with each GPU family left
out of the fit. Every row is answered; every exception is listed with its reason.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.judge.sizing.plan import CapacityPlan, plan
from barostat.kv.profiled.fitted import FITTED, MemoryModel

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench import sizing_peers  # noqa: E402
from bench.kept import Figure, Kept, by_card, keep  # noqa: E402
from bench.sizing_answer import Answer, answer  # noqa: E402
from bench.sizing_shares import off, peer_table, shares  # noqa: E402
from bench.sizing_terms import missing_rows, term_table  # noqa: E402


def is_plain(found: CapacityPlan) -> bool:
    """True for a model whose layers all keep every token."""
    return len(found.layout.groups) == 1 and all(
        spec.kind in ("full", "latent") for _, spec in found.layout.groups[0].layers
    )


def part_one(answers: list[Answer]) -> list[dict[str, Any]]:
    """Tokens and concurrency given the stated memory."""
    rows = []
    for found in answers:
        observed, ours = found.row["observed"], found.given
        if ours is None:
            continue
        length = observed.get("max_concurrency_at_len")
        concurrency = (
            ours.pool.concurrency if length is None or length == ours.flags.max_model_len else None
        )
        rows.append({
            "id": found.row["id"], "plain": is_plain(ours), "pp": ours.flags.pp, "model": found.row.get("model"),
            "tokens": off(ours.pool.tokens, observed.get("kv_tokens")), "concurrency": off(concurrency, observed.get("max_concurrency")),
            "stated": parse_version(found.row.get("vllm_version")) is not None and found.row.get("max_model_len") is not None,
        })  # fmt: skip
    return rows


def eligible_for_two(found: Answer) -> bool:
    """True for a row that states its configuration, utilisation (or a version whose default
    applies) and memory, and what it got.
    """
    row = found.row
    observed = row["observed"].get("available_kv_gib")
    stated = row.get("gpu_memory_utilization") is not None or row.get("vllm_version") is not None
    return (
        found.whole is not None
        and observed is not None
        and stated
        and row.get("tp") is not None
        and row.get("gpu") is not None
    )


def error_bytes(found: Answer) -> tuple[float, float]:
    """Ours less theirs in GiB, and relative to theirs."""
    assert found.whole is not None
    theirs = found.row["observed"]["available_kv_gib"]
    ours = found.whole.available.value / GIB
    return ours - theirs, (ours - theirs) / abs(theirs) if theirs else 0.0


def refit(answers: list[Answer], without: str) -> MemoryModel:
    """The constants fitted to rows of every GPU family but one: medians of what the rows' logs say
    of each part.
    """
    sampler, single, linked, unlinked, early, graph = ([] for _ in range(6))  # type: ignore[var-annotated]
    for found in answers:
        row, whole = found.row, found.whole
        if (
            whole is None
            or whole.spent is None
            or row["gpu_family"] == without
            or row["engine"] != "V1"
        ):
            continue
        observed, model, flags = row["observed"], whole.request.model, whole.flags
        activation, other = observed.get("activation_gib"), observed.get("non_torch_gib")
        logits = min(flags.max_num_batched_tokens, flags.max_num_seqs) * model.vocab_size * 4
        hidden = flags.max_num_batched_tokens * model.hidden_size * 2
        dense = not model.is_multimodal and not model.text.get("n_routed_experts")
        if (
            activation is not None
            and flags.pp == 1
            and "sampler" in whole.spent.activations.source
            and dense
            and logits > 0.3 * GIB
        ):
            sampler.append((activation * GIB - hidden - FITTED.fixed_bytes) / logits)
        if other is not None and flags.pp == 1:
            if flags.version.before("0.12.0"):
                early.append(other)
            elif flags.tp == 1:
                single.append(other)
            else:
                (
                    linked
                    if row["gpu_family"] in ("H100", "H200", "H20", "B200", "GB200")
                    else unlinked
                ).append(other)
        if (
            observed.get("graph_capture_gib") is not None
            and flags.pp == 1
            and not model.text.get("n_routed_experts")
        ):
            graph.append(
                (observed["graph_capture_gib"] * GIB - FITTED.graph_base_bytes) / len(model.layers)
            )
    made = MemoryModel()
    if sampler:
        made = replace(made, sampler_copies=statistics.median(sampler))
    else:
        made = replace(made, sampler_copies=4.0)  # nothing to go by: four copies of the logits
    made = replace(made, single_bytes=(statistics.median(single) if single else 0.3) * GIB)
    made = replace(made, linked_bytes=(statistics.median(linked) if linked else 1.0) * GIB)
    made = replace(made, unlinked_bytes=(statistics.median(unlinked) if unlinked else 0.3) * GIB)
    made = replace(made, early_bytes=(statistics.median(early) if early else 0.2) * GIB)
    if graph:
        made = replace(made, graph_layer_bytes=max(0.0, statistics.median(graph)))
    return made


def report(answers: list[Answer], reasons: dict[str, str], peers: dict[str, dict[str, Any]]) -> str:
    """Both parts as text."""
    lines = ["## Part 1: given the available KV memory", ""]
    rows = part_one(answers)
    plain = [r for r in rows if r["plain"] and r["pp"] == 1 and r["tokens"] is not None]
    mixed = [r for r in rows if not r["plain"] and r["concurrency"] is not None]
    good = [r for r in plain if abs(r["tokens"]) <= 0.01]
    lines.append(f"plain rows, PP 1: kvCacheTokens within 1 % for {len(good)} of {len(plain)}")
    fine = [r for r in mixed if abs(r["concurrency"]) <= 0.02]
    lines.append(f"hybrid rows: maxConcurrency within 2 % for {len(fine)} of {len(mixed)}")
    told = [r for r in mixed if not reasons.get(r["id"], "").startswith("not stated")]
    left = ", ".join(f"{r['id']} {r['concurrency']:+.1%}" for r in mixed if r not in told)
    lines.append(
        f"hybrid rows that state what decides: {sum(1 for r in told if r in fine)} of "
        f"{len(told)}; left out here: {left}"
    )
    lines += ["", "exceptions:"]
    for r in rows:
        worst = r["tokens"] if r["plain"] else r["concurrency"]
        limit = 0.01 if r["plain"] else 0.02
        if worst is not None and abs(worst) > limit:
            lines.append(
                f"- {r['id']} ({r['model']}): {worst:+.1%}. "
                f"{reasons.get(r['id'], 'no reason known')}"
            )
    lines += ["", "rows without an answer:"]
    lines += [
        f"- {a.row['id']}: {reasons.get(a.row['id'], a.why)}"
        for a in answers
        if a.given is None and a.why
    ]
    two = [a for a in answers if eligible_for_two(a)]
    strict = [a for a in two if a.row.get("gpu_memory_utilization") is not None]
    lines += ["", "## Part 2: given model, card, flags and version", ""]
    lines += [f"rows that state their utilisation: {shares([error_bytes(a) for a in strict])}"]
    lines += [
        f"and those where the version's default applies: {shares([error_bytes(a) for a in two])}",
        "",
    ]
    by_family: dict[str, list[Answer]] = defaultdict(list)
    for a in two:
        by_family[a.row["gpu_family"]].append(a)
    lines += ["| GPU family | with it in the fit | with it left out |", "|---|---|---|"]
    left_out_all: list[tuple[float, float]] = []
    for family, members in sorted(by_family.items()):
        constants = refit(answers, family)
        again = []
        for a in members:
            assert a.whole is not None
            again.append(Answer(a.row, whole=plan(replace(a.whole.request, constants=constants))))
        left_out = [error_bytes(a) for a in again]
        left_out_all += left_out
        lines.append(
            f"| {family} | {shares([error_bytes(a) for a in members])} | {shares(left_out)} |"
        )
    lines += [
        "",
        f"every family left out in turn: {shares(left_out_all)}",
        "",
        "each term's own error:",
        "",
    ]
    lines += term_table(counted_terms(answers, two))
    lines += [
        "",
        "beyond 3 % and half a GiB:",
        *missing_rows([(a, *error_bytes(a)) for a in two], reasons),
    ]
    naive = [(naive_gib(a) - a.row["observed"]["available_kv_gib"], 0.0) for a in two]
    relative_naive = [
        (e, e / abs(a.row["observed"]["available_kv_gib"] or 1))
        for (e, _), a in zip(naive, two, strict=True)
    ]
    lines += [
        "",
        "| peer | part 2: available KV memory | part 1: given the memory |",
        "|---|---|---|",
        f"| barostat | {shares([error_bytes(a) for a in two])} |",
    ]
    lines.append(
        f"| naive: memory x utilisation - parameters x 2 bytes / GPUs | {shares(relative_naive)} |"
    )
    logged = {a.row["id"]: a.row["observed"]["available_kv_gib"] for a in two}
    observed = {a.row["id"]: a.row["observed"] for a in answers}
    return "\n".join([*lines[:-2], *peer_table(rows, logged, lines[-2:], observed, peers)])


def questions(answers: list[Answer]) -> list[dict[str, Any]]:
    """The rows that another planner can be asked, with everything that ours was given."""
    asked = []
    for found in answers:
        ours = found.whole or found.given
        if ours is None or not ours.request.model.config:
            continue
        asked.append({
            "id": found.row["id"], "model": found.row.get("model") or "", "config": dict(ours.request.model.config),
            "tp": ours.flags.tp, "pp": ours.flags.pp, "utilization": ours.sized.utilization, "length": ours.flags.max_model_len,
            "budget": ours.flags.max_num_batched_tokens, "seqs": ours.flags.max_num_seqs, "kvDtype": ours.flags.kv_cache_dtype,
            "card": ours.request.card.name if ours.request.card else "", "memoryGib": ours.total.value / GIB if ours.total else None,
            "availableGib": found.row["observed"].get("available_kv_gib"),
            "weightsGib": ours.weights_bytes * ours.flags.tp * ours.flags.pp / GIB,
        })  # fmt: skip
    return asked


def counted_terms(answers: list[Answer], two: list[Answer]) -> list[Answer]:
    """Rows whose terms count: those of part 2, and others that log a term on a card that they
    name.
    """
    chosen = {id(a) for a in two}
    return [
        a
        for a in answers
        if id(a) in chosen
        or (a.whole is not None and a.row.get("gpu") and a.row["observed"].get("weights_gib"))
    ]


def naive_gib(found: Answer) -> float:
    """The formula of many a blog post: memory times utilisation less weights, nothing else."""
    assert found.whole is not None
    assert found.whole.total is not None
    return (
        found.whole.total.value * found.whole.sized.utilization - found.whole.weights_bytes
    ) / GIB


def main() -> int:
    """Answer every row, write them, print the report."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("cases", type=Path)
    asked.add_argument("--configs", type=Path, required=True)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--report", type=Path)
    asked.add_argument(
        "--quality",
        default="A",
        help="only rows of this quality count in the report; every row is answered",
    )
    asked.add_argument(
        "--reasons", type=Path, default=Path(__file__).with_name("sizing_reasons.json")
    )
    asked.add_argument(
        "--peers",
        action="store_true",
        help="ask other planners too, in an environment of their own (made on first use)",
    )
    asked.add_argument(
        "--peers-python", type=Path, help="the interpreter of an environment that has them"
    )
    asked.add_argument("--keep", action="store_true", help="write bench/results/start-ups.json")
    given = asked.parse_args()
    beside = {"beside": str(given.cases.parent)}
    rows = [
        json.loads(line) | beside for line in given.cases.read_text().splitlines() if line.strip()
    ]
    answers = [answer(row, given.configs) for row in rows]
    with given.out.open("w") as file:
        for found in answers:
            ours = found.given or found.whole
            whole = found.whole or found.given
            file.write(json.dumps({
                "id": found.row["id"], "kvCacheTokens": ours.pool.tokens if ours else None,
                "maxConcurrency": round(ours.pool.concurrency, 4) if ours else None,
                "availableKvBytesPerGpu": int(whole.available.value) if whole else None, "fits": ours.fits if ours else None,
            } | ({"why": found.why} if found.why else {})) + "\n")  # fmt: skip
    reasons = json.loads(given.reasons.read_text()) if given.reasons.exists() else {}
    counted = [a for a in answers if a.row.get("row_quality") == given.quality]
    peers = (
        sizing_peers.ask(questions(counted), given.peers_python)
        if given.peers or given.peers_python
        else {}
    )
    text = report(counted, reasons, peers)
    print(text)
    if given.report:
        given.report.write_text(text + "\n")
    if given.keep:
        keep("start-ups", _kept(counted))
    return 0


def _kept(answers: list[Answer]) -> Kept:
    rows = []
    for found in answers:
        card = None if found.whole is None else found.whole.request.card
        if eligible_for_two(found) and card is not None:
            rows.append((card.vendor, card.name, abs(error_bytes(found)[1])))
    tokens = [
        abs(one["tokens"])
        for one in part_one(answers)
        if one["plain"] and one["tokens"] is not None
    ]
    exact = sum(error < 0.001 for error in tokens)
    return Kept(
        "python bench/sizing.py CASES.jsonl --configs DIR --out FILE.jsonl --keep",
        "start-up logs of vLLM that people published (model, card, flags, version, what was logged)",
        [
            Figure("KV tokens given the logged memory, full attention", f"{exact} of {len(tokens)} within 0.1 %", len(tokens)),
            *by_card(rows, "KV memory from model, card, flags and version: error"),
        ],
        ["Rows without a card, a utilisation or their memory are not counted in the second part.",
         "The constants were fitted to rows like these; docs/decisions/memory-model.md has those with each family of cards left out."],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
