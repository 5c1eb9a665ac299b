"""The admission policy says at its head which workloads it is about. What it refuses:
tests/cluster/test_admission_policy.py.
"""

from __future__ import annotations

import pytest
import yaml

from barostat.core.errors import InputError
from barostat.core.limits import EngineLimits, LimitsSpec, ServingLimits, TargetRef
from barostat.io.manifests.admission_policy import policy_text


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (None, "every vLLM workload of the cluster"),
        (
            TargetRef("apps/v1", "Deployment", "chat"),
            "workloads with the name in targetRef, in every namespace",
        ),
    ],
)
def test_whom_it_is_about_is_told_before_it_is_applied(target: TargetRef | None, says: str) -> None:
    text = policy_text(
        ServingLimits(spec=LimitsSpec(engine=EngineLimits(max_num_seqs=8), target_ref=target)),
        "limits.yaml",
    )
    assert f"# It applies to {says}" in text
    assert "matchResources" in text
    assert len(list(yaml.safe_load_all(text))) == 2


def test_a_kind_that_it_cannot_look_into_is_told() -> None:
    limits = ServingLimits(
        spec=LimitsSpec(
            TargetRef("serving.kserve.io/v1beta1", "InferenceService", "chat"),
            engine=EngineLimits(max_num_seqs=8),
        )
    )
    with pytest.raises(InputError, match="name the workload that its controller creates"):
        policy_text(limits, "limits.yaml")


def test_what_a_controller_makes_anew_is_not_asked() -> None:
    policy, _ = yaml.safe_load_all(
        policy_text(
            ServingLimits(spec=LimitsSpec(engine=EngineLimits(max_num_seqs=8))), "limits.yaml"
        )
    )
    rules = {
        name: rule["operations"]
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for name in rule["resources"]
    }
    assert rules["leaderworkersets"] == ["CREATE", "UPDATE"]
    assert rules["pods"] == rules["jobs"] == ["CREATE"]
    assert "ownerReferences" in policy["spec"]["matchConditions"][0]["expression"]
