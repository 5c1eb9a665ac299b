"""Variables that a controller sets in the containers that it makes."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

ARGS = (
    "[--model, a/b, '--nnodes=$(LWS_GROUP_SIZE)', '--node-rank=$(LWS_WORKER_INDEX)', "
    "'--master-addr=$(LWS_LEADER_ADDRESS)', '--port=$(PORT)']"
)


def told(kind: str, route: str, env: str) -> list[str]:
    container = f"{{name: a, image: 'vllm/vllm-openai:v0.32.0', env: [{env}], args: {ARGS}}}"
    text = (
        f"kind: {kind}\napiVersion: v1\nmetadata: {{name: a}}\nspec: "
        f"{route.replace('HERE', f'{{containers: [{container}]}}')}\n"
    )
    found = check([document_of(text, "a.yaml")]).findings
    return [
        one.message.partition(" ")[0]
        for one in found
        if one.rule in ("unset-variable", "bad-flag-value")
    ]


def test_a_leader_worker_set_sets_its_own() -> None:
    both = (
        "{leaderWorkerTemplate: {leaderTemplate: {spec: HERE}}}",
        "{leaderWorkerTemplate: {workerTemplate: {spec: HERE}}}",
    )
    for route in both:
        assert told("LeaderWorkerSet", route, "") == ["$(PORT)"]
        assert told(
            "LeaderWorkerSet", route, "{name: T, valueFrom: {secretKeyRef: {name: s, key: t}}}"
        ) == ["$(PORT)"]
        assert told("LeaderWorkerSet", route, "{name: PORT, value: '8000'}") == []


def test_a_pod_by_itself_has_none_of_them() -> None:
    assert told("Pod", "HERE", "{name: PORT, value: '8000'}") == [
        "$(LWS_GROUP_SIZE)",
        "$(LWS_WORKER_INDEX)",
        "$(LWS_LEADER_ADDRESS)",
    ]
