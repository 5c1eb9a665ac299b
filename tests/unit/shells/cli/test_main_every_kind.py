"""Every verb on every kind of workload, on an API server that holds one object of it, what stands
between it and its pod, and the pod. `docs/reference/workloads.md` is made from `cell`.
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.kind_samples import FLAG, FOLDER, NAME, NEW, OLD, Sample, samples
from tests.support.little_kubernetes import NAMESPACE, LittleKubernetes, reference
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.io.bundles import bundle, bundle_writer
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.kubernetes.recording.target import Wanted
from barostat.io.manifests.live_objects import workload_documents
from barostat.io.mitigation.campaign import Campaign, new_id
from barostat.io.prometheus.selector import matchers
from barostat.judge.diagnosis.diagnose import diagnose, examine
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording
from barostat.judge.manifest_check.scene import scene_of
from barostat.judge.mitigation.planning import Wish
from barostat.judge.mitigation.prepared import NothingPrepared, Prepared
from barostat.judge.survey.rollout import NOT_READ
from barostat.judge.survey.survey import survey
from barostat.platform.workload import belongs_to
from barostat.platform.workloads import kinds
from barostat.remedy.state import State, WriteRecord
from barostat.shells.cli.mitigate.lever_option import requested
from barostat.shells.cli.mitigate.mitigate import into_source
from barostat.shells.cli.mitigate.verify import hold_against
from barostat.shells.cli.prevent.rules_inputs import labels_of
from barostat.shells.reports.incident.owner_patch import source_text

SAMPLES = samples()
KINDS = sorted(SAMPLES)
ROLES = Path(__file__).resolve().parents[4] / "deploy" / "rbac"
VERBS = {
    "diagnose": "test_it_is_found_and_diagnosed",
    "survey": "test_it_is_a_row_of_the_survey",
    "top": "test_it_is_found_and_diagnosed",
    "collect": "test_a_bundle_of_it_gives_the_same_diagnosis",
    "plan --from": "test_its_engine_tells_its_settings",
    "check --live": "test_what_it_declares_is_checked",
    "rules": "test_rules_are_for_its_pods",
    "gateway": "test_a_gateway_follows_its_pods",
    "mitigate": "test_a_remedy_is_planned_or_the_patch_is_shown",
    "verify": "test_a_change_in_force_is_verified_and_taken_back",
    "rollback": "test_a_change_in_force_is_verified_and_taken_back",
    "incident": "test_a_change_in_force_is_verified_and_taken_back",
}
"""The verbs of the reference page, with the test that a cell rests on."""
_UNPROVED = ("RayService",)
"""Kinds of which no unit can prove a change before the others get it."""
_REMEDIES = ("verify", "rollback", "incident")
_NO_COMMON_LABEL = "its pods have no label in common: name each engine, --upstream"
_DECLARES_NONE = {
    "Pod": "a pod by itself is not read there: check its manifest",
    "ReplicaSet": "a ReplicaSet by itself is not read there: check its manifest",
    "RayCluster": "its objects do not hold the engine's arguments",
    "NIMService": "its fields are not read there",
    "DynamoGraphDeployment": "its main containers are not read there",
}


def cell(kind: str, verb: str) -> str:
    """Why the verb does not work for that kind; empty where it does."""
    sample = SAMPLES[kind]
    if verb == "check --live":
        return _DECLARES_NONE.get(kind, "")
    if verb == "gateway":
        return "" if sample.kind.query(NAME, sample.item) else _NO_COMMON_LABEL
    if verb == "mitigate":
        return sample.kind.why_not(sample.item)
    if verb in _REMEDIES and sample.kind.why_not(sample.item):
        return "no remedy changes it, so there is none to verify or take back"
    return ""


class Still(LittleKubernetes):
    """What is there stays as it is."""

    def settle(self) -> None:
        """No controller acts."""


async def _set_up(scene: Scene, sample: Sample, gpus: int = 9) -> Cluster:
    kube = scene.kube
    kube.objects = {key: item for key, item in kube.objects.items() if key[0] == "namespaces"}
    above: dict[str, Any] | None = None
    for plural, item in copy.deepcopy(sample.objects()):
        if above is not None and (plural, item["metadata"]["name"]) != _held(sample):
            item["metadata"]["ownerReferences"] = [reference(above["kind"], above)]
        made = kube.add(plural, item)
        if above is None or plural != "pods":
            above = made
    (pod,) = kube.all("pods")
    labels = pod["metadata"].get("labels", {})
    for made in kube.all("replicasets"):
        made["metadata"].setdefault("labels", labels)
    kube._born[pod["metadata"]["uid"]] = 0.0
    kube.add("services", {"metadata": {"name": NAME}, "spec": {"selector": labels}})
    end = {"kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    ready = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}, "targetRef": end}
    metadata = {"name": "vllm", "labels": {"kubernetes.io/service-name": NAME}}
    kube.add("endpointslices", {"metadata": metadata, "endpoints": [ready]})
    room = {"nvidia.com/gpu": str(gpus), "cpu": "8", "memory": "64Gi", "pods": "9"}
    healthy = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    kube.add("nodes", {"metadata": {"name": "n0"}, "spec": {}, "status": healthy})
    return by(Cluster(ACCESS), scene.api)


def _held(sample: Sample) -> tuple[str, str]:
    return (sample.held[0], sample.held[1]["metadata"]["name"]) if sample.held else ("", "")


def recorded(sample: Sample) -> Recording:
    """What `diagnose`, `top`, `collect`, `plan --from` and `check --live` start from."""

    async def go(scene: Scene) -> Recording:
        cluster = await _set_up(scene, sample)
        wanted = Wanted((sample.target,), namespace=NAMESPACE)
        recorder = PodRecorder(
            cluster, wanted, Options(for_s=20.0), SteadyClock(), scene.told.append
        )
        await recorder.window()
        found = (await recorder.recording()).recording
        await recorder.rest()
        return found

    return on_a_little_kubernetes(go, 0, make=Still)


@pytest.fixture(scope="module")
def recordings() -> dict[str, Recording]:
    """One of each kind."""
    return {kind: recorded(sample) for kind, sample in SAMPLES.items()}


def test_every_kind_has_a_sample_in_the_test_of_its_own_file() -> None:
    files = {f"test_{type(kind).__module__.rpartition('.')[2]}.py" for kind in kinds()}
    assert files <= {file.name for file in FOLDER.glob("test_*.py")}
    assert {kind.api.kind for kind in kinds()} == set(SAMPLES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_roles_have_the_right_to_read_it(kind: str) -> None:
    api = SAMPLES[kind].kind.api
    wanted = {"observer": True, "gateway": cell(kind, "gateway") == "" and kind != "ReplicaSet"}
    for role in [name for name, is_wanted in wanted.items() if is_wanted]:
        documents = yaml.safe_load_all((ROLES / f"{role}.yaml").read_text())
        rules = [rule for found in documents for rule in found.get("rules", [])]
        assert any(
            api.group in rule["apiGroups"] and api.plural in rule["resources"] for rule in rules
        ), f"{role}.yaml has no right to {api.plural}"


def test_the_page_names_tests_that_are_there() -> None:
    assert {name for name in VERBS.values() if not callable(globals().get(name))} == set()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_found_and_diagnosed(kind: str, recordings: dict[str, Recording]) -> None:
    sample, recording = SAMPLES[kind], recordings[kind]
    (replica,) = diagnose(recording).replicas
    assert replica.diagnosis.cause == "kv-preemption-thrash"
    (pod,) = recording.kubernetes["pods"]["items"]
    if kind != "Pod":
        assert belongs_to(recording.kubernetes, pod, sample.kind, NAME)
        (item,) = recording.kubernetes[sample.kind.api.plural]["items"]
        assert item["metadata"]["name"] == NAME
    assert sample.kind.role(pod) == sample.role
    named = (
        "decode kv-preemption-thrash (1 of 1). Change decode." in diagnose(recording).fleet.summary
    )
    assert named is ("decode" in sample.role)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_row_of_the_survey(kind: str, recordings: dict[str, Recording]) -> None:
    sample, recording = SAMPLES[kind], recordings[kind]
    (row,) = survey(examine(recording), recording.kubernetes, {}, None, {}).engines
    assert row.report.diagnosis.cause == "kv-preemption-thrash"
    if kind == "Pod":
        assert row.workload is None
        return
    assert row.workload is not None
    made = {(item["kind"].lower(), item["metadata"]["name"]) for _, item in sample.objects()}
    assert (row.workload.kind, row.workload.name) in made
    assert row.rollout is not NOT_READ


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_of_it_gives_the_same_diagnosis(
    kind: str, recordings: dict[str, Recording], tmp_path: Path
) -> None:
    bundle_writer.write(recordings[kind], tmp_path / "b.tar.gz")
    (replica,) = diagnose(bundle.read(tmp_path / "b.tar.gz")).replicas
    assert replica.diagnosis.cause == "kv-preemption-thrash"


@pytest.mark.parametrize("kind", KINDS)
def test_its_engine_tells_its_settings(kind: str, recordings: dict[str, Recording]) -> None:
    (replica,) = recordings[kind].replicas
    found, _ = windows(recordings[kind], replica)
    (window,) = found.values()
    assert window.config.number("max_num_seqs") == float(OLD)


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_declares_is_checked(kind: str, recordings: dict[str, Recording]) -> None:
    engines = scene_of([*workload_documents(recordings[kind].kubernetes).values()]).engines
    declared = [engine for engine in engines if engine.number("max_num_seqs") == float(OLD)]
    assert bool(declared) is (cell(kind, "check --live") == "")


@pytest.mark.parametrize("kind", KINDS)
def test_rules_are_for_its_pods(kind: str, recordings: dict[str, Recording]) -> None:
    found = labels_of(SAMPLES[kind].target, recordings[kind].kubernetes)
    assert found["namespace"] == NAMESPACE
    assert found["pod"].lstrip("~").startswith(NAME)
    assert NAME in matchers("", NAMESPACE, [SAMPLES[kind].target])


@pytest.mark.parametrize("kind", KINDS)
def test_a_gateway_follows_its_pods(kind: str) -> None:
    sample = SAMPLES[kind]

    async def go(scene: Scene) -> str:
        cluster = await _set_up(scene, sample)
        item = scene.kube.objects[sample.kind.api.plural, NAME]
        query = sample.kind.query(NAME, item)
        if not query:
            return ""
        listed = scene.api._list("pods", query)[1]["items"]
        await cluster.close()
        return ",".join(pod["metadata"]["name"] for pod in listed)

    found = on_a_little_kubernetes(go, 0, make=Still)
    (pod,) = [item for plural, item in sample.objects() if plural == "pods"]
    assert found == ("" if cell(kind, "gateway") else pod["metadata"]["name"])


def _campaign(cluster: Cluster, sample: Sample, scene: Scene) -> Campaign:
    return Campaign(
        cluster,
        NAMESPACE,
        NAME,
        Options(for_s=20.0),
        SteadyClock(),
        scene.told.append,
        kind=sample.kind,
    )


def _prepared(sample: Sample) -> tuple[Prepared, list[str]]:
    """What `mitigate` makes of it, and what it wrote."""
    made, writes = _planned(sample)
    assert isinstance(made, Prepared), made
    return made, writes


def _planned(sample: Sample, gpus: int = 9) -> tuple[Prepared | NothingPrepared, list[str]]:
    async def go(scene: Scene) -> tuple[Prepared | NothingPrepared, list[str]]:
        cluster = await _set_up(scene, sample, gpus)
        campaign = _campaign(cluster, sample, scene)
        wish = Wish(new_id(NAME), requested(f"max-num-seqs={NEW}"))
        made = await campaign.prepare(wish, None)
        return made, scene.api.writes

    return on_a_little_kubernetes(go, 0, make=Still)


@pytest.mark.parametrize("kind", KINDS)
def test_a_remedy_is_planned_or_the_patch_is_shown(kind: str) -> None:
    sample = SAMPLES[kind]
    found, writes = _prepared(sample)
    assert writes == []
    why = cell(kind, "mitigate")
    if not why:
        assert sample.kind.rolls, f"{kind} does not roll, and its by_hand is empty"
        assert found.in_the_way == ()
        assert found.plan.strategy in (("rolling",) if kind in _UNPROVED else ("spare", "canary"))
        assert found.plan.proved_first is (kind not in _UNPROVED)
        return
    assert found.plan.strategy == "rolling"
    text = source_text(found.seen, found.plan, found.in_the_way[0])
    assert why in text
    assert sample.says in why
    shown = yaml.safe_load(text[text.index("\n# ") :]) if "\n# " in text else {}
    assert {key: shown.get(key) for key in sample.patch or {}} == (sample.patch or {})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not cell(kind, "check --live")])
def test_the_change_is_made_in_a_checkout(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = SAMPLES[kind]
    found, _ = _prepared(sample)
    file = tmp_path / "chat.yaml"
    item = {key: entry for key, entry in sample.item.items() if key != "status"}
    file.write_text("# kept\n" + yaml.safe_dump(item, sort_keys=False))
    words = argparse.Namespace(write_source=str(tmp_path), dry_run=True)
    before = file.read_text()
    assert into_source(found, words) == 0
    assert file.read_text() == before
    assert into_source(found, argparse.Namespace(**{**vars(words), "dry_run": False})) == 0
    pairs = zip(before.splitlines(), file.read_text().splitlines(), strict=True)
    changed = [(old, new) for old, new in pairs if old != new]
    assert [old.replace(OLD, NEW) for old, _ in changed] == [new for _, new in changed]
    assert len(changed) == before.count(OLD) > 0
    assert NEW in capsys.readouterr().out


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not cell(kind, "verify")])
def test_a_change_in_force_is_verified_and_taken_back(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = SAMPLES[kind]

    async def go(scene: Scene) -> None:
        campaign = _campaign(await _set_up(scene, sample), sample, scene)
        made = await campaign.prepare(Wish("i1", requested(f"max-num-seqs={NEW}")), None)
        assert isinstance(made, Prepared)
        done = State(made.plan, "Done", revision=1)
        await campaign.store.write(WriteRecord("k", 1, done), "")
        below = scene.kube.all("deployments") if sample.kind.api.kind != "Deployment" else []
        for item in (campaign_home(scene, sample), scene.kube.all("pods")[0], *below):
            _set_everywhere(item)
        found, states = await campaign.change_in_force(sample.target)
        assert found is not None
        assert [state.plan.id for state in states] == [found.plan.id] == ["i1"]
        words = argparse.Namespace(target=sample.target, for_s=20.0, interval_s=5.0, output="text")
        assert await hold_against(campaign, words) in (0, 3)
        back = await campaign.prepare_rollback(found.plan, Wish("i2"))
        assert isinstance(back, Prepared)
        assert (back.plan.change.former, back.plan.change.value) == (NEW, OLD)
        assert back.in_the_way == ()

    on_a_little_kubernetes(go, 0, make=Still)
    assert "chat-0-abcde" in capsys.readouterr().out


def campaign_home(scene: Scene, sample: Sample) -> dict[str, Any]:
    """The workload as the server has it."""
    return scene.kube.objects[sample.kind.api.plural, NAME]


def _set_everywhere(node: Any) -> None:
    for key, entry in list(node.items() if isinstance(node, dict) else enumerate(node)):
        if isinstance(entry, list) and FLAG in entry:
            entry[entry.index(FLAG) + 1] = NEW
        elif isinstance(entry, str) and f"max_num_seqs: {OLD}" in entry:
            node[key] = entry.replace(f"max_num_seqs: {OLD}", f"max_num_seqs: {NEW}")
        elif isinstance(entry, dict | list):
            _set_everywhere(entry)


def test_a_rollout_that_needs_more_gpus_than_are_free_is_named() -> None:
    for gpus, said in ((9, "1 GPU more; they are free."), (1, "and they are not free")):
        found, _ = _planned(SAMPLES["VLLMRuntime"], gpus)
        assert isinstance(found, Prepared)
        assert said in source_text(found.seen, found.plan, found.in_the_way[0])


def test_a_remedy_whose_owner_needs_more_gpus_than_are_free_is_refused() -> None:
    found, _ = _planned(SAMPLES["InferenceService"], 1)
    assert isinstance(found, NothingPrepared)
    assert "1 GPU more, and they are not free" in found.why
    assert "maxSurge 0" in found.why
