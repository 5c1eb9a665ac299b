"""The kinds of objects that Barostat reads and writes, with their addresses and the names of their
rights. Kinds of workloads come from `platform/workloads`.

Source: Kubernetes 1.27 to 1.34 API reference; KEDA 2.x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from barostat.platform.workloads import WorkloadKind, kinds


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object. `group` is empty for the core group."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The apiVersion, such as `v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def right(self) -> str:
        """As `kubectl auth can-i` and RBAC name it: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """The path on the API server: of one object, or of the list where `name` is empty (of all
        namespaces without `namespace`).
        """
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe=":") for part in (name,) if part]
        return "/".join(parts) + (f"/{subresource}" if subresource else "")


@cache
def resource_of(kind: WorkloadKind) -> Resource:
    """The resource of a kind of workload: one value for each kind."""
    api = kind.api
    return Resource(api.kind, api.plural, api.group, api.version)


_WORKLOADS = {kind.api.kind: resource_of(kind) for kind in kinds()}
PODS = _WORKLOADS["Pod"]
EVENTS = Resource("Event", "events")
NODES = Resource("Node", "nodes", namespaced=False)
NAMESPACES = Resource("Namespace", "namespaces", namespaced=False)
SERVICES = Resource("Service", "services")
CONFIG_MAPS = Resource("ConfigMap", "configmaps")
RESOURCE_QUOTAS = Resource("ResourceQuota", "resourcequotas")
DEPLOYMENTS = _WORKLOADS["Deployment"]
REPLICA_SETS = _WORKLOADS["ReplicaSet"]
JOBS = Resource("Job", "jobs", "batch")
STATEFUL_SETS = _WORKLOADS["StatefulSet"]
CONTROLLER_REVISIONS = Resource("ControllerRevision", "controllerrevisions", "apps")
AUTOSCALERS = Resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling", "v2")
DISRUPTION_BUDGETS = Resource("PodDisruptionBudget", "poddisruptionbudgets", "policy")
ENDPOINT_SLICES = Resource("EndpointSlice", "endpointslices", "discovery.k8s.io")
ACCESS_REVIEWS = Resource(
    "SelfSubjectAccessReview", "selfsubjectaccessreviews", "authorization.k8s.io", namespaced=False
)
INFERENCE_POOLS = (
    Resource("InferencePool", "inferencepools", "inference.networking.k8s.io"),
    Resource("InferencePool", "inferencepools", "inference.networking.x-k8s.io", "v1alpha2"),
)
LEASES = Resource("Lease", "leases", "coordination.k8s.io")
POD_METRICS = Resource("PodMetrics", "pods", "metrics.k8s.io", "v1beta1")
SCALED_OBJECTS = Resource("ScaledObject", "scaledobjects", "keda.sh", "v1alpha1")
ARGO_APPLICATIONS = Resource("Application", "applications", "argoproj.io", "v1alpha1")
FLUX_KUSTOMIZATIONS = Resource("Kustomization", "kustomizations", "kustomize.toolkit.fluxcd.io")
_BY_PLURAL = {found.plural: found for found in (*_WORKLOADS.values(), CONTROLLER_REVISIONS)}
FLUX_HELM_RELEASES = Resource("HelmRelease", "helmreleases", "helm.toolkit.fluxcd.io", "v2")


def workload_resource(plural: str) -> Resource:
    """The resource of that plural name among workloads and what they are made of."""
    return _BY_PLURAL[plural]
