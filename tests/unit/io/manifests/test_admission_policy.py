"""The admission policy says at its head which workloads it is about. What it refuses: tests/cluster/test_admission_policy.py."""

from __future__ import annotations

import pytest
import yaml

from barostat.core.limits import EngineLimits, LimitsSpec, ServingLimits, TargetRef
from barostat.io.manifests.admission_policy import policy_text


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (None, "every vLLM workload of the cluster"),
        (TargetRef("apps/v1", "Deployment", "chat"), "workloads of the name in targetRef, in every namespace"),
    ],
)
def test_whom_it_is_about_is_told_before_it_is_applied(target: TargetRef | None, says: str) -> None:
    text = policy_text(ServingLimits(spec=LimitsSpec(engine=EngineLimits(max_num_seqs=8), target_ref=target)), "limits.yaml")
    assert f"# It is about {says}" in text
    assert "matchResources" in text
    assert len(list(yaml.safe_load_all(text))) == 2
