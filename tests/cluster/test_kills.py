"""Programs that die in the middle of a remedy, at every act of it: another one goes on or takes it back, and nothing is left behind.

At every act: within this process, where nothing of the dead run is executed any more, before the act is sent or when it took effect. With
`kill -9` of the command line: at some.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dev.cluster.client import Workspace
from tests.cluster.guard import Guard
from tests.cluster.test_mitigate import PRESSED, QUICK, incidents, nothing_of_ours_is_left, preempted, pressed_twins
from tests.unit.io.remedy_runs import Mortal, unless_killed

from barostat.core.limits import LimitsSpec, RemedyLimits, ServingLimits
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.cluster import Cluster
from barostat.io.kubernetes.kubeconfig import find_access
from barostat.io.kubernetes.live import Options
from barostat.io.remedy.campaign import Campaign, new_id
from barostat.io.remedy.ground import Pace
from barostat.io.remedy.store import Store
from barostat.judge.remedy_plan import Planned, Wish
from barostat.remedy.plan import Bounds
from barostat.remedy.state import State
from barostat.shells.cli.main import main

FAST = tuple("3" if word == "12" else word for word in PRESSED)
"""As the twins of test_mitigate, but they start within three seconds."""
LOOK_S, SUSTAINED_S = 10.0, 10.0
DEATHS = 11
"""Acts before home's template is written; from then on the way is forward only."""


class Lives:
    """Runs of one incident after another, each of which may die."""

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.told: list[str] = []
        self.limits = ServingLimits(spec=LimitsSpec(remedy=RemedyLimits(changes_per_hour=100)))

    def campaign(self, cluster: Cluster) -> Campaign:
        """What a command would have. Nothing is waited for on account of dead runs: they have nothing on its way."""
        options = Options(LOOK_S, 2.0)
        pace = Pace(stray_s=0.0)
        return Campaign(cluster, self.space.namespace, "twin", options, SteadyClock(), self.told.append, self.limits, pace)

    async def life(self, cluster: Cluster, incident: str = "", *, abort: str = "") -> State | None:
        """A run from the first look, or one that goes on with that incident; None where it died."""
        campaign = self.campaign(cluster)

        async def live() -> State:
            if incident:
                state, limits = await Store(cluster, self.space.namespace).read(incident)
                return (await campaign.resume(state, limits, abort=abort))[0]
            for _ in range(5):
                wish = Wish(new_id("twin"), autonomy="act", sustained_s=SUSTAINED_S, bounds=Bounds(drain_s=120.0))
                made, limits = await campaign.plan(await campaign.look(), wish)
                if isinstance(made, Planned):
                    return (await campaign.carry_out(made.plan, limits, None))[0]
            raise AssertionError("no plan was made")

        return await unless_killed(live(), cluster)

    def mortal(self, dies_at: int, *, late: bool) -> Mortal:
        """The operator's way to the cluster, up to that act."""
        return Mortal(find_access(str(self.space.cluster.kubeconfig("operator"))), dies_at, late=late)


@pytest.mark.long
def test_killed_at_every_act_and_resumed_each_time(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    lives = Lives(space)
    with pressed_twins(space, rate_per_s=4.0, flags=FAST) as load, Guard(space, "twin", floor=2) as guard:
        space.until("both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150)
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
def test_killed_at_every_act_and_taken_back(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    lives = Lives(space)
    with pressed_twins(space, rate_per_s=4.0, flags=FAST) as load, Guard(space, "twin", floor=2) as guard:
        before = space.get("deploy/twin")["spec"]
        for act in range(1, DEATHS + 1):
            space.until("both are preempting", lambda: min(preempted(space).values()) > 10, within_s=150)
            assert asyncio.run(lives.life(lives.mortal(act, late=act % 2 == 0))) is None
            (incident,) = incidents(space)
            operator = Cluster(find_access(str(space.cluster.kubeconfig("operator"))))
            state = asyncio.run(lives.life(operator, incident["id"], abort="a person ended it"))
            assert state is not None
            with capsys.disabled():
                print(f"\nkilled at act {act} ({incident['phase']}): {state.phase}; {load.counts.summary()}", end="")
            assert state.phase == "RolledBack", lives.told
            nothing_of_ours_is_left(space)
            assert space.get("deploy/twin")["spec"] == before
            space.delete(f"configmap/incident-{incident['id']}")
        assert guard.broken == []
        assert load.counts.failed == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "verb", "ends"),
    [
        ("ClaimHome", "resume", {"Done"}),
        ("CreateSpare", "abort", {"RolledBack"}),
        # where Kubernetes has made another one meanwhile, and it serves, there is nobody to take the place of
        ("Detach", "resume", {"Done", "RolledBack"}),
        ("Verifying", "abort", {"RolledBack"}),
        ("DeletePod", "resume", {"Done"}),
        # forward only from when the record says so, which comes just after the act
        ("PatchTemplate", "abort", {"Done", "RolledBack"}),
    ],
)
def test_the_command_line_is_killed(line: str, verb: str, ends: set[str], space: Workspace, tmp_path: Path) -> None:
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("operator"))]
    with pressed_twins(space, rate_per_s=4.0, flags=FAST) as load, Guard(space, "twin", floor=2) as guard:
        space.until("both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150)
        words = ["mitigate", "deploy/twin", *place, "--autonomy", "act", *QUICK]
        run = subprocess.Popen([sys.executable, "-m", "barostat.shells.cli.main", *words], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        assert run.stderr is not None
        for told in run.stderr:
            if told.startswith(line):
                run.send_signal(signal.SIGKILL)
                break
        assert run.wait(10) == -signal.SIGKILL
        (incident,) = incidents(space)
        code = main(["incident", verb, incident["id"], *place])
        (incident,) = incidents(space)
        assert incident["phase"] in ends, incident["why"]
        assert (code, incident["progress"]["epoch"]) == (0 if incident["phase"] == "Done" else 1, 2)
        nothing_of_ours_is_left(space)
        assert guard.broken == []
        assert load.counts.failed == {}
