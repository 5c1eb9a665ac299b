"""A remedy against reality: two real vLLM replicas on the real cluster, a load that thrashes them,
and `barostat mitigate --autonomy act`.

    python bench/remedy.py [--share 0.75] [--seed 1] [--pool-tokens 10240] [--out FILE] [--searched
    FILE] [--page FILE]

1. search        two engines with other and other limits on active requests, at the load: the best static setting there is
2. unpressured   with eight times the pool and no limit, at the same load: what the gaps between
   tokens are where the pool does not press
3. remedy        as they were deployed; the load begins and does not change; once both replicas preempt, the command is started and no
                 hand is laid on it. It is judged from when nobody waits any more, for two minutes
4. again         the same load from its beginning on what the command left

load      Poisson arrivals, one connection for each request, through the Service; `--share` of what the engines serve at most with one
          request active in each for 1,024 tokens of the pool. `--seed` draws arrivals, lengths and
          contents
good      answered, first token within 10 s, and a mean gap of at most twice the mean gap of 2.; goodput is held against goodput as a share
          of the requests that came, because by chance more come in one stretch than in another

Exits 1 if anything is not as asked: no preemption in the two minutes, p99 gap at most 1.5 times
that of 2., goodput at least 90 % of the best of 1., no request lost, limits written, no preemption
in 4. `--searched` takes 1. and 2. from the FILE of an earlier run; `--page`: the post-mortem. Three
engines share this machine's processors meanwhile: let it be idle.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.cluster import lifetime, workloads
from dev.cluster.client import Workspace
from dev.engine import DTYPE_FLAGS, SHAPES, is_installed
from dev.replay import Answer, replay

from barostat.twin.request import Row
from barostat.twin.summary import spread

INPUT, OUTPUT = (500, 900), (250, 450)
SLOTS = 64
STEP, FITTING = 2, 1024
TRIED_S, JUDGED_S, BACKLOG_S, LONGEST_S = 90.0, 120.0, 900.0, 3000.0
RAMP_S, LOOK_S = 30.0, 10.0
TTFT_S = 10.0
GAP_RATIO, ITL_RATIO, GOODPUT_RATIO = 2.0, 1.5, 0.9
COMMAND = ("--autonomy", "act", "--for", "60s", "--sustained", "60s", "--drain", "4m")


@dataclass(frozen=True, slots=True)
class Judged:
    """What clients had of the requests that came within a time. Rates per second, gaps in seconds;
    `good_ratio`: of those that came.
    """

    requests: int
    failed: int
    good_per_s: float
    good_ratio: float
    itl_mean_s: float
    itl_p99_s: float
    ttft_p50_s: float
    ttft_p99_s: float

    def __str__(self) -> str:
        return (
            f"{self.requests} requests, {self.failed} lost; good answers "
            f"{self.good_per_s:.2f}/s ({self.good_ratio:.0%}), "
            f"gap mean {self.itl_mean_s * 1e3:.0f} ms, p99 {self.itl_p99_s * 1e3:.0f} ms, "
            f"TTFT p50 {self.ttft_p50_s:.1f} s, p99 {self.ttft_p99_s:.1f} s"
        )


def judge(answers: Sequence[Answer], begin_s: float, end_s: float, gap_s: float) -> Judged:
    """Of the requests that came in that time; `gap_s`: the longest mean gap of a good answer."""
    came = [answer for answer in answers if begin_s <= answer.row.arrival_s < end_s]
    ended = [answer for answer in came if answer.whole and len(answer.token_s) > 1]
    gaps = spread(
        later - earlier
        for answer in ended
        for earlier, later in zip(answer.token_s, answer.token_s[1:], strict=False)
    )
    firsts = [answer.token_s[0] - answer.row.arrival_s for answer in ended]
    means = [
        (answer.token_s[-1] - answer.token_s[0]) / (len(answer.token_s) - 1) for answer in ended
    ]
    good = sum(first <= TTFT_S and mean <= gap_s for first, mean in zip(firsts, means, strict=True))
    seen = (gaps.mean, gaps.p99, spread(firsts).p50, spread(firsts).p99)
    nothing = float("nan")
    rates = (good / (end_s - begin_s), good / max(1, len(came)))
    return Judged(
        len(came),
        len(came) - len(ended),
        *rates,
        *(nothing if value is None else value for value in seen),
    )


def rows_of(rate_per_s: float, seconds: float, seed: int) -> list[Row]:
    """The load: the same rows for the same rate and seed, however long."""
    dice = random.Random(f"remedy/{seed}")
    rows: list[Row] = []
    at = dice.expovariate(rate_per_s)
    while at < seconds:
        rows.append(Row(str(len(rows)), at, dice.randint(*INPUT), dice.randint(*OUTPUT)))
        at += dice.expovariate(rate_per_s)
    return rows


class Traffic:
    """The load in a thread, until the block is left; then `answers` holds what came of every
    request that was sent.
    """

    def __init__(self, space: Workspace, rows: Sequence[Row], seed: int) -> None:
        self.answers: list[Answer] = []
        self._stop = threading.Event()
        self._began = 0.0
        self._thread = threading.Thread(
            target=self._run, args=(space.url("vllm"), rows, seed), daemon=True
        )

    def _run(self, url: str, rows: Sequence[Row], seed: int) -> None:
        self.answers = replay(url, rows, seed, self._stop)

    @property
    def now_s(self) -> float:
        """Seconds since the load began."""
        return time.monotonic() - self._began

    def __enter__(self) -> Self:
        self._thread.start()
        self._began = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        found: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()


@dataclass(frozen=True, slots=True)
class Bench:
    """The workload on the cluster."""

    space: Workspace
    pool_tokens: int

    def deploy(self, *flags: str, pools: int = 1) -> None:
        """Two replicas with these flags are Ready, and no others are there, nor a revision to go
        back to.
        """
        shape = SHAPES["small"]
        width = 4 if DTYPE_FLAGS else 2
        token_bytes = (
            2
            * shape["num_key_value_heads"]
            * shape["head_dim"]
            * width
            * shape["num_hidden_layers"]
        )
        size = (
            "--max-model-len",
            "4096",
            "--max-num-seqs",
            str(SLOTS),
            "--kv-cache-memory-bytes",
            str(pools * self.pool_tokens * token_bytes),
        )
        model = ("/models/small", *workloads.MODEL_FLAGS[1:])
        manifests = workloads.vllm(replicas=2, model=model, flags=[*size, *flags])
        container = workloads.only(manifests, "Deployment")["spec"]["template"]["spec"][
            "containers"
        ][0]
        # The image's own size of the pool would come before the flag.
        container["command"] = ["env", "-u", "VLLM_CPU_KVCACHE_SPACE", "vllm", "serve"]
        self.space.delete("deploy/vllm")
        self.space.until("no pods", lambda: not self.space.pods("app=vllm"))
        self.space.apply(manifests)
        self.space.wait_ready("deploy/vllm")
        self.space.until("two pods", lambda: len(self.space.pods("app=vllm")) == 2)

    def metric(self, name: str) -> list[float]:
        """Its value in each replica that can be asked."""
        found = []
        for pod in self.space.pods("app=vllm"):
            if pod.is_ready:
                seen = re.search(
                    rf"^vllm:{name}\{{[^}}]*\}} (\S+)", self.space.metrics(pod.name), re.MULTILINE
                )
                found.append(float(seen[1]) if seen else 0.0)
        return found

    def try_out(self, rows: Sequence[Row], seed: int) -> list[Answer]:
        """All of it, sent and answered."""
        return replay(self.space.url("vllm"), rows, seed)

    def limits(self) -> str:
        """The document that the command left."""
        return str(self.space.get("configmap/vllm-limits")["data"]["limits.yaml"])


def say(words: str) -> None:
    """A line, at once."""
    print(words, flush=True)


def searched(bench: Bench, share: float, seed: int) -> tuple[float, Judged, dict[int, Judged]]:
    """The rate of the load, what clients have of unpressured engines, and what each static limit
    makes of the load.
    """
    cap: int | None = bench.pool_tokens // FITTING
    bench.deploy("--max-num-active-seqs", str(cap))
    bench.try_out(rows_of(1.0, 10.0, 99), 99)
    crowd = [row._replace(arrival_s=0.0) for row in rows_of(1.0, 150.0, 98)]
    began = time.monotonic()
    bench.try_out(crowd, 98)
    rate = share * len(crowd) / (time.monotonic() - began)
    say(
        f"load: {rate:.2f} requests/s of {INPUT} + {OUTPUT} tokens, {share:.0%} of what "
        f"two engines serve with {cap} active each"
    )
    rows = rows_of(rate, RAMP_S + TRIED_S, seed)
    first = bench.try_out(rows, seed)
    bench.deploy(pools=8)
    calm = judge(bench.try_out(rows, seed), RAMP_S, RAMP_S + TRIED_S, float("inf"))
    say(f"unpressured: {calm}")
    found: dict[int, Judged] = {}
    while cap is not None:
        if found:
            bench.deploy("--max-num-active-seqs", str(cap))
        found[cap] = judge(
            bench.try_out(rows, seed) if found else first,
            RAMP_S,
            RAMP_S + TRIED_S,
            GAP_RATIO * calm.itl_mean_s,
        )
        say(f"--max-num-active-seqs {cap}: {found[cap]}")
        best = max(found, key=lambda cap: found[cap].good_per_s)
        cap = next(
            (near for near in (best - STEP, best + STEP) if near not in found and near > 0), None
        )
    return rate, calm, found


def command_of(bench: Bench, *words: str) -> list[str]:
    """The command line, as a person with the operator's rights has it."""
    place = (
        "-n",
        bench.space.namespace,
        "--kubeconfig",
        str(bench.space.cluster.kubeconfig("operator")),
    )
    return [sys.executable, "-m", "barostat.shells.cli.main", *words, *place]


def mitigate(bench: Bench) -> int:
    """The command's exit status; what it says is shown as it comes."""
    return subprocess.run(
        command_of(bench, "mitigate", "deploy/vllm", *COMMAND), stderr=subprocess.STDOUT
    ).returncode


def post_mortem(bench: Bench) -> str:
    """The page about what was done."""
    record = bench.space.kubectl.json("get", "configmaps", "-l", "barostat.dev/record=true")[
        "items"
    ][0]
    incident = json.loads(record["data"]["incident.json"])["id"]
    return subprocess.run(
        command_of(bench, "incident", "show", incident, "-o", "html"),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def run(arguments: argparse.Namespace, space: Workspace) -> int:
    """All four parts."""
    bench = Bench(space, arguments.pool_tokens)
    report: dict[str, Any] = {
        "share": arguments.share,
        "seed": arguments.seed,
        "poolTokens": arguments.pool_tokens,
    }
    if arguments.searched:
        earlier = json.loads(arguments.searched.read_text())
        rate, calm = earlier["ratePerSecond"], Judged(**earlier["unpressured"])
        found = {int(cap): Judged(**judged) for cap, judged in earlier["static"].items()}
    else:
        rate, calm, found = searched(bench, arguments.share, arguments.seed)
    report |= {
        "ratePerSecond": rate,
        "unpressured": asdict(calm),
        "static": {cap: asdict(judged) for cap, judged in found.items()},
    }
    if arguments.out:
        arguments.out.write_text(json.dumps(report, indent=1))
    best = max(found, key=lambda cap: found[cap].good_per_s)
    bench.deploy()
    rows = rows_of(rate, LONGEST_S, arguments.seed)
    with Traffic(space, rows, arguments.seed) as traffic:
        space.until(
            "both replicas preempt",
            lambda: min(bench.metric("num_preemptions_total")) >= 3,
            within_s=300,
            every_s=LOOK_S,
        )
        onset_s = traffic.now_s
        space.until(
            "it is no chance",
            lambda: sum(bench.metric("num_preemptions_total")) >= 25,
            within_s=400,
            every_s=LOOK_S,
        )
        began_s = traffic.now_s
        say(
            f"remedy: both replicas preempt after {onset_s:.0f} s of the load; the command "
            f"begins at {began_s:.0f} s"
        )
        code = mitigate(bench)
        ended_s = traffic.now_s
        say(f"exit code {code} at {ended_s:.0f} s")
        if arguments.page:
            arguments.page.write_text(post_mortem(bench))
        if code != 0:
            return 1
        space.until(
            "nobody waits",
            lambda: sum(bench.metric("num_requests_waiting")) < 2,
            within_s=BACKLOG_S,
            every_s=LOOK_S,
        )
        settled_s = traffic.now_s
        before = bench.metric("num_preemptions_total")
        time.sleep(JUDGED_S)
        preempted = sum(bench.metric("num_preemptions_total")) - sum(before)
    gap_s = GAP_RATIO * calm.itl_mean_s
    after = judge(traffic.answers, settled_s, settled_s + JUDGED_S, gap_s)
    lost = sum(not answer.whole for answer in traffic.answers)
    say(f"thrash, before the command: {judge(traffic.answers, 0.0, began_s, gap_s)}")
    say(f"after, from {settled_s:.0f} s on: {after}; {preempted:.0f} preemptions")
    before = bench.metric("num_preemptions_total")
    again = judge(
        bench.try_out(rows_of(rate, JUDGED_S + RAMP_S, arguments.seed), arguments.seed),
        RAMP_S,
        RAMP_S + JUDGED_S,
        gap_s,
    )
    once_more = sum(bench.metric("num_preemptions_total")) - sum(before)
    say(f"the same load again: {again}; {once_more:.0f} preemptions")
    limits = bench.limits()
    holds = {
        "the command ended well": code == 0,
        "no preemption for two minutes": preempted == 0,
        f"p99 gap {after.itl_p99_s / calm.itl_p99_s:.2f} times that of the unpressured engines (at most {ITL_RATIO})":
            after.itl_p99_s <= ITL_RATIO * calm.itl_p99_s,
        f"goodput {after.good_ratio / found[best].good_ratio:.0%} of the best static setting, {best} active (at least {GOODPUT_RATIO:.0%})":
            after.good_ratio >= GOODPUT_RATIO * found[best].good_ratio,
        f"{lost} of {len(traffic.answers)} requests lost (none)": lost == 0,
        "limits written": "engine:" in limits,
        f"{once_more:.0f} preemptions under the same load again (none)": once_more == 0,
    }  # fmt: skip
    say(
        f"\nonset to recovery {settled_s - onset_s:.0f} s (command {ended_s - began_s:.0f} "
        f"s, backlog {settled_s - ended_s:.0f} s)"
    )
    say("\n".join(f"{'holds' if good else 'OFF  '}  {what}" for what, good in holds.items()))
    if arguments.out:
        answers = [
            [
                answer.row.arrival_s,
                answer.row.output_tokens,
                *answer.token_s[:1],
                *answer.token_s[-1:],
            ]
            for answer in traffic.answers
        ]
        report |= {"limits": limits, "holds": holds, "answers": answers}
        arguments.out.write_text(json.dumps(report, indent=1))
    return 0 if all(holds.values()) else 1


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(
        description="barostat mitigate on real vLLM pods under a load that thrashes them."
    )
    parser.add_argument("--share", type=float, default=0.75)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pool-tokens", type=int, default=10240)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--searched", type=Path)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    if not is_installed() or (why := lifetime.why_not()):
        print(
            "remedy: "
            f"{'vLLM is not installed here; run `make vllm`' if not is_installed() else why}",
            file=sys.stderr,
        )
        return 2
    with lifetime.in_use() as cluster, cluster.workspace("remedy") as space:
        return run(arguments, space)


if __name__ == "__main__":
    raise SystemExit(main())
