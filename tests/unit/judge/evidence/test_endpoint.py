"""The port that the engine listens on, in the forms in which charts and people write it."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.judge.evidence.endpoint import endpoints, serves


def pod(
    args: list[str] | None = None, annotations: dict[str, str] | None = None, **container: Any
) -> dict[str, Any]:
    made = {"name": "engine", "image": "vllm/vllm-openai:v0.32.0", **container}
    made |= {"args": args} if args is not None else {}
    return {
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {
            "containers": [
                {"name": "proxy", "image": "envoy", "ports": [{"containerPort": 9901}]},
                made,
            ]
        },
    }


@pytest.mark.parametrize(
    ("given", "port", "scheme"),
    [
        (pod(["m/x", "--port", "8080"]), 8080, "http"),
        (pod(["m/x", "--port=$(PORT)"], env=[{"name": "PORT", "value": "9000"}]), 9000, "http"),
        (pod(["m/x"]), 8000, "http"),
        (pod(["m/x"], readinessProbe={"httpGet": {"port": 8080, "path": "/health"}}), 8000, "http"),
        (
            pod(
                command=["./start.sh"],
                readinessProbe={"httpGet": {"port": 8080, "path": "/health"}},
            ),
            8080,
            "http",
        ),
        (
            pod(
                command=["./start.sh"],
                ports=[{"name": "api", "containerPort": 7000}],
                readinessProbe={"httpGet": {"port": "api"}},
            ),
            7000,
            "http",
        ),
        (
            pod(
                command=["./start.sh"],
                ports=[
                    {"name": "ray", "containerPort": 6379},
                    {"name": "http", "containerPort": 7000},
                ],
            ),
            7000,
            "http",
        ),
        (pod(command=["./start.sh"], annotations={"prometheus.io/port": "8081"}), 8081, "http"),
        (pod(command=["./start.sh"]), 8000, "http"),
        (pod(["m/x", "--ssl-keyfile", "k.pem", "--ssl-certfile", "c.pem"]), 8000, "https"),
        (pod(command=["sh", "-c", "exec vllm serve m/x --port 8123"]), 8123, "http"),
        ({"spec": {}}, 8000, "http"),
    ],
)
def test_the_likeliest_place_comes_first(given: dict[str, Any], port: int, scheme: str) -> None:
    first = endpoints(given)[0]
    assert (first.port, first.scheme) == (port, scheme)


def test_other_places_are_kept_for_a_second_try() -> None:
    found = endpoints(
        pod(["m/x"], readinessProbe={"httpGet": {"port": 8080}}, ports=[{"containerPort": 9000}])
    )
    assert [endpoint.port for endpoint in found] == [8000, 8080, 9000]


@pytest.mark.parametrize(
    ("words", "has_a_server"),
    [
        (["vllm serve m/x --tensor-parallel-size 8"], True),
        (["ray start --head --port=6379 && vllm serve m/x"], True),
        (["ray start --block --address=$(LWS_LEADER_ADDRESS):6379"], False),
        (
            [
                (
                    "bash /vllm-workspace/examples/online_serving/multi-node-serving.sh worker "
                    "--ray_address=$(LWS_LEADER_ADDRESS)"
                )
            ],
            False,
        ),
        (["bash multi-node-serving.sh leader --ray_cluster_size=2; vllm serve m/x"], True),
        (["vllm serve m/x --headless --node-rank 1"], False),
    ],
)
def test_only_the_head_of_an_engine_of_several_pods_serves(
    words: list[str], has_a_server: bool
) -> None:
    assert serves(pod(command=["sh", "-c", *words])) is has_a_server


def test_every_pod_of_a_ray_cluster_shows_the_engines_on_it() -> None:
    worker = pod(["ulimit -n 65536; ray start --address=head:6379 --block"], name="vllm")
    assert not serves(worker)
    worker["metadata"]["labels"] = {"ray.io/cluster": "chat-abcde"}
    assert serves(worker)
