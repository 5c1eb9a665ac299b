"""DynamoGraphDeployment: each service is a role."""

from __future__ import annotations

from typing import Any

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, container, head

_GRAPH = "nvidia.com/dynamo-graph-deployment-name"


def _services(value: str) -> dict[str, Any]:
    main = {key: found for key, found in container([FLAG, value]).items() if key != "name"}
    return {
        "Frontend": {"extraPodSpec": {"mainContainer": {"image": "front"}}},
        "decode": {"replicas": 2, "extraPodSpec": {"mainContainer": main}},
    }


SAMPLE = Sample(
    {**head("DynamoGraphDeployment"), "spec": {"services": _services(OLD)}},
    {_GRAPH: "chat", "nvidia.com/dynamo-component": "decode"},
    patch={
        "spec": {
            "services": {
                "decode": {
                    "extraPodSpec": {
                        "mainContainer": {
                            "args": _services(NEW)["decode"]["extraPodSpec"]["mainContainer"][
                                "args"
                            ]
                        }
                    }
                }
            }
        }
    },
    role="decode",
    says="service under pressure",
)


def test_the_front_end_is_no_replica() -> None:
    assert SAMPLE.kind.replicas(SAMPLE.item) == 2
