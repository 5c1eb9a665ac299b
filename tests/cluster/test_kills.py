"""Programs that die in the middle of a remedy, at every act of it: another one goes on or takes it
back, and nothing is left behind.

At every act: within this process, where nothing of the dead run is executed any more, before the
act is sent or when it took effect. With `kill -9` of the command line: at some, and at every act of
one remedy, of twins and of the real vLLM.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from dev.cluster import workloads
from dev.cluster.client import Workspace
from dev.load import Background, Load
from tests.cluster.guard import Guard
from tests.cluster.test_mitigate import (
    PRESSED,
    QUICK,
    incidents,
    nothing_of_ours_is_left,
    preempted,
    pressed_twins,
)
from tests.support.remedy_runs import Mortal, unless_killed

from barostat.core.limits import LimitsSpec, RemedyLimits, ServingLimits
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation.campaign import Campaign, new_id
from barostat.io.mitigation.store import Store
from barostat.io.mitigation.target_reader import ActTiming
from barostat.judge.mitigation.planning import Wish
from barostat.judge.mitigation.prepared import Prepared
from barostat.remedy.plan import StepLimits
from barostat.remedy.state import State
from barostat.shells.cli.main import main

FAST = tuple("3" if word == "12" else word for word in PRESSED)
"""As the twins of test_mitigate, but they start within three seconds."""
LOOK_S, SUSTAINED_S = 10.0, 10.0
DEATHS = 11
"""Acts before home's template is written; from then on the way is forward only."""

WRITES = (
    "ClaimHome", "CreateSpare", "JoinRotation", "LeaveRotation", "Detach", "PutBack", "ScaleHome", "DeletePod", "PatchTemplate",
    "WriteLimits", "DeleteSpare", "ReleaseHome",
)  # fmt: skip
"""The first word of the line that the command tells of an act that changes something, just before
it does.
"""


FLOORS = {"twin": 2, "vllm": 1}
"""Replicas that serve all the while."""


class Lives:
    """Runs of one incident after another, each of which may die."""

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.told: list[str] = []
        self.limits = ServingLimits(spec=LimitsSpec(remedy=RemedyLimits(changes_per_hour=100)))

    def campaign(self, cluster: Cluster) -> Campaign:
        """What a command would have. Nothing is waited for on account of dead runs: they have
        nothing on its way.
        """
        options = Options(LOOK_S, 2.0)
        pace = ActTiming(stray_s=0.0)
        return Campaign(
            cluster,
            self.space.namespace,
            "twin",
            options,
            SteadyClock(),
            self.told.append,
            self.limits,
            pace,
        )

    async def life(self, cluster: Cluster, incident: str = "", *, abort: str = "") -> State | None:
        """A run from the first look, or one that goes on with that incident; None where it died."""
        campaign = self.campaign(cluster)

        async def live() -> State:
            if incident:
                state, limits = await Store(cluster, self.space.namespace).read(incident)
                return (await campaign.go_on(state, limits, abort=abort)).state
            for _ in range(5):
                wish = Wish(
                    new_id("twin"),
                    autonomy="act",
                    sustained_s=SUSTAINED_S,
                    bounds=StepLimits(drain_s=120.0),
                )
                found = await campaign.prepare(wish, self.limits)
                if isinstance(found, Prepared):
                    return (await campaign.carry_out(found, None)).state
            raise AssertionError("no plan was made")

        return await unless_killed(live(), cluster)

    def mortal(self, dies_at: int, *, late: bool) -> Mortal:
        """The operator's way to the cluster, up to that act."""
        return Mortal(
            find_access(str(self.space.cluster.kubeconfig("operator"))), dies_at, late=late
        )


@pytest.mark.long
def test_killed_at_every_act_and_resumed_each_time(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    lives = Lives(space)
    with (
        pressed_twins(space, rate_per_s=4.0, flags=FAST) as load,
        Guard(space, "twin", floor=2) as guard,
    ):
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        state = asyncio.run(lives.life(lives.mortal(1, late=False)))
        deaths = 1
        while state is None:
            (incident,) = incidents(space)
            state = asyncio.run(lives.life(lives.mortal(2, late=deaths % 2 == 0), incident["id"]))
            deaths += state is None
        with capsys.disabled():
            print(f"\n{deaths} deaths; {state.phase}: {state.why}; {load.counts.summary()}")
        assert (state.phase, deaths > 15) == ("Done", True), lives.told
        assert guard.broken == []
        nothing_of_ours_is_left(space)
        assert load.counts.failed == {}


@pytest.mark.long
def test_killed_at_every_act_and_taken_back(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    lives = Lives(space)
    with (
        pressed_twins(space, rate_per_s=4.0, flags=FAST) as load,
        Guard(space, "twin", floor=2) as guard,
    ):
        before = space.get("deploy/twin")["spec"]
        for act in range(1, DEATHS + 1):
            space.until(
                "both are preempting", lambda: min(preempted(space).values()) > 10, within_s=150
            )
            assert asyncio.run(lives.life(lives.mortal(act, late=act % 2 == 0))) is None
            (incident,) = incidents(space)
            operator = Cluster(find_access(str(space.cluster.kubeconfig("operator"))))
            state = asyncio.run(lives.life(operator, incident["id"], abort="a person ended it"))
            assert state is not None
            with capsys.disabled():
                print(
                    f"\nkilled at act {act} ({incident['phase']}): {state.phase}; "
                    f"{load.counts.summary()}",
                    end="",
                )
            assert state.phase == "RolledBack", lives.told
            nothing_of_ours_is_left(space)
            assert space.get("deploy/twin")["spec"] == before
            space.delete(f"configmap/incident-{incident['id']}")
        assert guard.broken == []
        assert load.counts.failed == {}


def first_word(told: str) -> str:
    return told.partition(" ")[0].strip().rstrip(":")


def killed(words: list[str], dies_at: Callable[[str], bool]) -> int:
    """The command's exit status, where it came to its end; minus SIGKILL where it was killed as it
    told a line of that kind.
    """
    run = subprocess.Popen(
        [sys.executable, "-m", "barostat.shells.cli.main", *words],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stderr is not None
    for told in run.stderr:
        if dies_at(told):
            run.send_signal(signal.SIGKILL)
            break
    else:
        return run.wait(30)
    return run.wait(10)


@pytest.mark.parametrize(
    ("line", "verb", "ends"),
    [
        pytest.param("ClaimHome", "resume", {"Done"}, marks=pytest.mark.long),
        pytest.param("CreateSpare", "abort", {"RolledBack"}, marks=pytest.mark.long),
        # where Kubernetes has made another one meanwhile, and it serves, there is nobody to take
        # the place of
        ("Detach", "resume", {"Done", "RolledBack"}),
        pytest.param("Verifying", "abort", {"RolledBack"}, marks=pytest.mark.long),
        pytest.param("DeletePod", "resume", {"Done"}, marks=pytest.mark.long),
        # forward only from when the record says so, which comes just after the act
        pytest.param("PatchTemplate", "abort", {"Done", "RolledBack"}, marks=pytest.mark.long),
    ],
)
def test_the_command_line_is_killed(line: str, verb: str, ends: set[str], space: Workspace) -> None:
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("operator"))]
    with (
        pressed_twins(space, rate_per_s=4.0, flags=FAST) as load,
        Guard(space, "twin", floor=2) as guard,
    ):
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        words = ["mitigate", "deploy/twin", *place, "--autonomy", "act", *QUICK]
        assert killed(words, lambda told: told.startswith(line)) == -signal.SIGKILL
        (incident,) = incidents(space)
        code = main(["incident", verb, incident["id"], *place])
        (incident,) = incidents(space)
        assert incident["phase"] in ends, incident["why"]
        assert (code, incident["progress"]["epoch"]) == (0 if incident["phase"] == "Done" else 1, 2)
        nothing_of_ours_is_left(space)
        assert guard.broken == []
        assert load.counts.failed == {}


def thrashing(space: Workspace, name: str) -> Background:
    """Twins, or a real engine, under a load that they do not come out of by themselves; nothing is
    sent before the block is entered.
    """
    if name == "twin":
        # They start as slowly as engines: what Kubernetes makes in place of a detached pod does not
        # serve before another run goes on. Unhindered they serve 3.5 requests/s: more would pile up
        # behind a remedy that is killed for a quarter of an hour.
        return pressed_twins(space, rate_per_s=3.4, flags=(*PRESSED[:-1], "45"))
    # One, of a model that costs the engine more than its host side: two at once would leave
    # Kubernetes and the command no core.
    model = ("/models/small", *workloads.MODEL_FLAGS[1:])
    space.apply(
        workloads.vllm(
            model=model,
            flags=[
                "--max-model-len",
                "2048",
                "--num-gpu-blocks-override",
                "64",
                "--max-num-seqs",
                "64",
            ],
        )
    )
    space.wait_ready("deploy/vllm")
    # Clients that wait for their answers press an engine on any machine; a rate would have to be
    # its own.
    return Background(
        space.url("vllm"),
        Load(clients=16, prompt_tokens=(500, 900), output_tokens=(250, 450)),
        for_s=2400.0,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "at", "ends"),
    [
        # whether a real engine does well enough with it is its own affair: undone will do as well
        pytest.param(
            "vllm",
            ("CreateSpare", "Detach", "DeleteSpare"),
            {"Done", "RolledBack"},
            id="vllm-three-acts",
        ),
        pytest.param("vllm", WRITES, {"Done"}, id="vllm-every-act"),
        pytest.param("twin", WRITES, {"Done"}, id="twin-every-act"),
    ],
)
def test_the_command_line_is_killed_again_and_again(
    name: str,
    at: tuple[str, ...],
    ends: set[str],
    space: Workspace,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name == "vllm":
        request.getfixturevalue("real_vllm")
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("operator"))]
    deaths: list[str] = []

    def dies(told: str) -> bool:
        act = first_word(told)
        if act not in at or told in deaths or (at != WRITES and act in map(first_word, deaths)):
            return False
        deaths.append(told)
        return True

    with thrashing(space, name) as load, Guard(space, name, floor=FLOORS[name]) as guard:
        before = space.get(f"deploy/{name}")["spec"]
        space.until("it thrashes", lambda: min(preempted(space).values()) > 25, within_s=200)
        # The pool is small because the test says so by hand, which the diagnosis would take away
        # first; the twin chooses the value.
        words = [
            "mitigate",
            f"deploy/{name}",
            *place,
            "--autonomy",
            "act",
            "--lever",
            "max-num-active-seqs",
            *QUICK,
        ]
        code = killed(words, dies)
        while (
            not incidents(space) and load.counts.answered < 400
        ):  # a look of 20 s may see too little
            code = killed(words, dies)
        (incident,) = incidents(space)
        while code == -signal.SIGKILL:
            code = killed(["incident", "resume", incident["id"], *place], dies)
        (incident,) = incidents(space)
        settled = preempted(space)
        time.sleep(20)
        with capsys.disabled():
            print(f"\nkilled {len(deaths)} times: {', '.join(told.strip() for told in deaths)}")
            print(
                f"{incident['phase']}: {incident['why']}; {load.counts.summary()}; "
                f"preempted {settled}, then {preempted(space)}"
            )
        assert incident["phase"] in ends
        assert (code, incident["progress"]["epoch"]) == (
            0 if incident["phase"] == "Done" else 1,
            1 + len(deaths),
        )
        assert set(map(first_word, deaths)) >= set(at) - {"PutBack"}  # which only the way back has
        assert guard.broken == [], incident["timeline"]
        nothing_of_ours_is_left(space, name)
        assert load.counts.failed == {}
        if incident["phase"] == "Done":
            assert preempted(space) == settled
            assert (
                "maxNumActiveSeqs" in space.get(f"configmap/{name}-limits")["data"]["limits.yaml"]
            )
        else:
            assert space.get(f"deploy/{name}")["spec"] == before
