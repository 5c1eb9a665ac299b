"""Who writes a workload besides us is told from what it carries; a write that would not last is
told before it is made.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.platform.owner import Owner, owners


def deployment(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **metadata: Any
) -> dict[str, Any]:
    meta = {
        "name": "vllm",
        "namespace": "x",
        "labels": labels or {},
        "annotations": annotations or {},
        **metadata,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {"replicas": 3},
    }


def only(found: tuple[Owner, ...]) -> Owner:
    (owner,) = found
    return owner


HELM = {"meta.helm.sh/release-name": "prod", "meta.helm.sh/release-namespace": "x"}
TRACKED = {"argocd.argoproj.io/tracking-id": "prod:apps/Deployment:x/vllm"}
KUSTOMIZED = {
    "kustomize.toolkit.fluxcd.io/name": "apps",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}
RELEASED = {"helm.toolkit.fluxcd.io/name": "vllm", "helm.toolkit.fluxcd.io/namespace": "x"}


def application(
    automated: Any = None, annotations: dict[str, str] | None = None, owner: str = ""
) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": "prod", "namespace": "argocd", "annotations": annotations or {}}
    if owner:
        meta["ownerReferences"] = [
            {"apiVersion": "argoproj.io/v1alpha1", "kind": owner, "name": "all"}
        ]
    source = {
        "repoURL": "https://git.example/deploy",
        "path": "prod/vllm",
        "targetRevision": "main",
    }
    policy = {} if automated is None else {"automated": automated}
    return {
        "kind": "Application",
        "metadata": meta,
        "spec": {"source": source, "syncPolicy": policy},
    }


def test_what_nobody_else_writes_is_ours_to_write() -> None:
    assert owners(deployment()) == ()
    assert (
        owners(
            deployment(
                managedFields=[
                    {"manager": "kubectl-client-side-apply"},
                    {"manager": "kube-controller-manager", "subresource": "status"},
                ]
            )
        )
        == ()
    )
    assert owners({}) == ()


def test_helm_writes_at_the_next_upgrade() -> None:
    found = only(owners(deployment({"helm.sh/chart": "vllm-stack-0.1.7"}, HELM)))
    assert (found.kind, found.name, found.reverts) == ("helm", "prod", "at-next-deploy")
    assert found.hinders("everything")
    assert found.source == "the values of release prod (chart vllm-stack-0.1.7)"
    assert only(owners(deployment({"app.kubernetes.io/managed-by": "Helm"}))).kind == "helm"
    assert only(owners(deployment(managedFields=[{"manager": "helm"}]))).kind == "helm"


@pytest.mark.parametrize(
    ("app", "reverts", "paused"),
    [
        (application({"selfHeal": True, "prune": True}), "at-once", False),
        (application({"selfHeal": True, "enabled": False}), "at-next-deploy", False),
        (application({}), "at-next-deploy", False),
        (application(), "at-next-deploy", False),
        (
            application({"selfHeal": True}, {"argocd.argoproj.io/skip-reconcile": "true"}),
            "no",
            True,
        ),
    ],
)
def test_argo_cd_by_the_policy_of_its_application(
    app: dict[str, Any], reverts: str, paused: bool
) -> None:
    found = only(owners(deployment(annotations=TRACKED), applications=[app]))
    assert (found.kind, found.name, found.namespace, found.reverts, found.paused) == (
        "argo-cd",
        "prod",
        "argocd",
        reverts,
        paused,
    )
    assert found.hinders("everything") is (reverts != "no")
    assert found.source == "https://git.example/deploy, prod/vllm at main"


def test_argo_cd_is_paused_by_its_policy_and_handed_back_as_it_was() -> None:
    switch = only(
        owners(
            deployment(annotations=TRACKED),
            applications=[application({"selfHeal": True, "prune": True})],
        )
    ).switch
    assert switch is not None
    assert switch.pause == {"spec": {"syncPolicy": {"automated": None}}}
    assert switch.resume == {
        "spec": {"syncPolicy": {"automated": {"selfHeal": True, "prune": True}}}
    }
    made = only(
        owners(
            deployment(annotations=TRACKED),
            applications=[application({"selfHeal": True}, owner="ApplicationSet")],
        )
    ).switch
    assert made is not None
    assert made.pause == {
        "metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}
    }
    assert made.resume == {"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": None}}}
    assert "ApplicationSet" in made.note


def test_an_application_of_applications_keeps_its_policy_for_the_parent_would_set_it_again() -> (
    None
):
    for tracked in (
        {"argocd.argoproj.io/tracking-id": "apps:argoproj.io/Application:argocd/prod"},
        None,
    ):
        child = application({"selfHeal": True}, tracked)
        if not tracked:
            child["metadata"]["labels"] = {"app.kubernetes.io/instance": "apps"}
        switch = only(owners(deployment(annotations=TRACKED), applications=[child])).switch
        assert switch is not None
        assert switch.pause == {
            "metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}
        }


def test_argo_cd_that_was_paused_for_the_workload_hinders_no_more() -> None:
    noted = {("Application", "argocd", "prod")}
    paused = only(
        owners(deployment(annotations=TRACKED), applications=[application()], paused=noted)
    )
    assert paused.paused
    assert not paused.hinders("everything")
    again = owners(
        deployment(annotations=TRACKED),
        applications=[application({"selfHeal": True})],
        paused=noted,
    )
    assert only(again).hinders("everything")
    assert only(owners(deployment(annotations=TRACKED), applications=[application()])).hinders(
        "everything"
    )


def test_argo_cd_whose_application_cannot_be_read_hinders() -> None:
    found = only(
        owners(
            deployment(
                annotations={"argocd.argoproj.io/tracking-id": "team_prod:apps/Deployment:x/vllm"}
            )
        )
    )
    assert (found.name, found.namespace, found.reverts) == ("prod", "team", "unknown")
    assert found.hinders("everything")
    assert only(owners(deployment({"argocd.argoproj.io/instance": "prod"}))).name == "prod"
    assert (
        only(
            owners(
                deployment(
                    {"app.kubernetes.io/instance": "prod"},
                    managedFields=[{"manager": "argocd-controller"}],
                )
            )
        ).kind
        == "argo-cd"
    )


def test_a_chart_that_argo_cd_renders_is_argo_cds() -> None:
    assert [
        owner.kind
        for owner in owners(deployment({"app.kubernetes.io/managed-by": "Helm"}, TRACKED))
    ] == ["argo-cd"]


@pytest.mark.parametrize(
    ("labels", "item", "kind", "reverts"),
    [
        (KUSTOMIZED, None, "flux-kustomization", "at-once"),
        (
            KUSTOMIZED,
            {
                "kind": "Kustomization",
                "metadata": {"name": "apps", "namespace": "flux-system"},
                "spec": {"suspend": True},
            },
            "flux-kustomization",
            "no",
        ),
        (RELEASED, None, "flux-helm-release", "unknown"),
        (
            RELEASED,
            {"kind": "HelmRelease", "metadata": {"name": "vllm", "namespace": "x"}, "spec": {}},
            "flux-helm-release",
            "at-next-deploy",
        ),
        (
            RELEASED,
            {
                "kind": "HelmRelease",
                "metadata": {"name": "vllm", "namespace": "x"},
                "spec": {"driftDetection": {"mode": "enabled"}},
            },
            "flux-helm-release",
            "at-once",
        ),
    ],
)
def test_flux(labels: dict[str, str], item: dict[str, Any] | None, kind: str, reverts: str) -> None:
    found = only(owners(deployment(labels), flux=[item] if item else []))
    assert (found.kind, found.reverts) == (kind, reverts)
    assert found.switch is not None
    assert found.switch.pause == {"spec": {"suspend": True}}
    former = True if item and item["spec"].get("suspend") else None
    assert found.switch.resume == {"spec": {"suspend": former}}


def test_flux_may_have_been_told_to_leave_it_alone() -> None:
    found = only(
        owners(deployment(KUSTOMIZED, {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}))
    )
    assert not found.hinders("everything")


def test_an_operator_writes_again_at_once() -> None:
    made = [
        {
            "apiVersion": "serving.kserve.io/v1beta1",
            "kind": "InferenceService",
            "name": "llm",
            "controller": True,
        }
    ]
    found = only(owners(deployment(ownerReferences=made)))
    assert (found.kind, found.reverts, found.switch) == ("operator", "at-once", None)
    assert "InferenceService llm" in found.because
    assert (
        owners(
            deployment(
                ownerReferences=[
                    {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "controller": True}
                ]
            )
        )
        == ()
    )


OFF = {"scaleUp": {"selectPolicy": "Disabled"}, "scaleDown": {"selectPolicy": "Disabled"}}


def hpa(least: int | None, most: int, behavior: Any = None, **metadata: Any) -> dict[str, Any]:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "vllm"},
        "minReplicas": least,
        "maxReplicas": most,
        "behavior": behavior,
    }
    return {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "x", **metadata},
        "spec": spec,
    }


def test_an_autoscaler_fights_over_replicas_and_nothing_else() -> None:
    found = only(owners(deployment(), hpas=[hpa(1, 8)]))
    assert found.hinders("replicas")
    assert not found.hinders("everything")
    assert found.switch is not None
    assert found.switch.pause == {"spec": {"minReplicas": 1, "maxReplicas": 8, "behavior": OFF}}
    assert found.switch.resume == {"spec": {"minReplicas": 1, "maxReplicas": 8, "behavior": None}}
    assert (
        owners(
            deployment(),
            hpas=[
                hpa(1, 8) | {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "other"}}}
            ],
        )
        == ()
    )


def test_an_autoscaler_is_off_only_where_its_bounds_do_not_act_either() -> None:
    # Held at 3 it would fill up the one that is missing for a moment.
    assert only(owners(deployment(), hpas=[hpa(3, 3)])).hinders("replicas")
    assert only(owners(deployment(), hpas=[hpa(2, 8, OFF)])).hinders("replicas")
    assert only(owners(deployment(), hpas=[hpa(1, 3, OFF)])).hinders("replicas")
    paused = only(owners(deployment(), hpas=[hpa(1, 8, OFF)]))
    assert paused.paused
    assert not paused.hinders("replicas")
    down = {"stabilizationWindowSeconds": 60}
    switch = only(owners(deployment(), hpas=[hpa(2, 3, {"scaleDown": down})])).switch
    assert switch is not None
    assert switch.pause["spec"]["maxReplicas"] == 4
    assert switch.resume == {
        "spec": {
            "minReplicas": 2,
            "maxReplicas": 3,
            "behavior": {"scaleUp": None, "scaleDown": down},
        }
    }


def test_keda_is_paused_at_its_scaled_object() -> None:
    scaled = {
        "kind": "ScaledObject",
        "metadata": {"name": "k", "namespace": "x"},
        "spec": {"scaleTargetRef": {"name": "vllm"}},
    }
    owned = hpa(
        1,
        8,
        ownerReferences=[
            {
                "apiVersion": "keda.sh/v1alpha1",
                "kind": "ScaledObject",
                "name": "k",
                "controller": True,
            }
        ],
    )
    found = only(owners(deployment(), hpas=[owned], scaled_objects=[scaled]))
    assert (found.kind, found.name, found.reverts) == ("keda", "k", "at-once")
    assert found.switch is not None
    assert found.switch.pause == {
        "metadata": {"annotations": {"autoscaling.keda.sh/paused": "true"}}
    }
    assert only(owners(deployment(), hpas=[owned])).name == "k"
    paused = scaled | {
        "metadata": {
            "name": "k",
            "namespace": "x",
            "annotations": {"autoscaling.keda.sh/paused-replicas": "3"},
        }
    }
    assert not only(owners(deployment(), hpas=[owned], scaled_objects=[paused])).hinders("replicas")


def test_whoever_undoes_a_write_first_comes_first() -> None:
    found = owners(deployment(KUSTOMIZED, HELM), hpas=[hpa(1, 8)])
    assert [owner.reverts for owner in found] == ["at-once", "at-once", "at-next-deploy"]


@pytest.mark.parametrize(
    ("labels", "managers", "tool"),
    [
        ({}, ["Terraform"], "Terraform"),
        ({"app.kubernetes.io/managed-by": "pulumi"}, [], "Pulumi"),
        ({}, ["pulumi-kubernetes-1a"], "Pulumi"),
    ],
)
def test_other_tools(labels: dict[str, str], managers: list[str], tool: str) -> None:
    found = only(owners(deployment(labels, managedFields=[{"manager": name} for name in managers])))
    assert (found.kind, found.name, found.reverts) == ("tool", tool, "at-next-deploy")


@pytest.mark.parametrize("junk", [None, 7, "x", [], {"name": []}])
def test_broken_objects_are_read_without_harm(junk: Any) -> None:
    odd = {
        "metadata": {
            "labels": junk,
            "annotations": junk,
            "ownerReferences": [junk],
            "managedFields": [junk],
        },
        "spec": junk,
    }
    owners(
        odd,
        hpas=[{"spec": junk}],
        scaled_objects=[{"metadata": junk}],
        applications=[{"spec": junk}],
        flux=[{"kind": junk}],
    )
