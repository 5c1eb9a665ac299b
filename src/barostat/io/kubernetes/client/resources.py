"""The kinds of objects that Barostat reads and writes, with what their addresses and rights are
called.

Source: Kubernetes 1.27 to 1.34 API reference; KEDA 2.x, LeaderWorkerSet v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


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
        """`v1`, `apps/v1`."""
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


PODS = Resource("Pod", "pods")
EVENTS = Resource("Event", "events")
NODES = Resource("Node", "nodes", namespaced=False)
NAMESPACES = Resource("Namespace", "namespaces", namespaced=False)
SERVICES = Resource("Service", "services")
CONFIG_MAPS = Resource("ConfigMap", "configmaps")
RESOURCE_QUOTAS = Resource("ResourceQuota", "resourcequotas")
DEPLOYMENTS = Resource("Deployment", "deployments", "apps")
REPLICA_SETS = Resource("ReplicaSet", "replicasets", "apps")
STATEFUL_SETS = Resource("StatefulSet", "statefulsets", "apps")
DAEMON_SETS = Resource("DaemonSet", "daemonsets", "apps")
CONTROLLER_REVISIONS = Resource("ControllerRevision", "controllerrevisions", "apps")
AUTOSCALERS = Resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling", "v2")
DISRUPTION_BUDGETS = Resource("PodDisruptionBudget", "poddisruptionbudgets", "policy")
ENDPOINT_SLICES = Resource("EndpointSlice", "endpointslices", "discovery.k8s.io")
ACCESS_REVIEWS = Resource(
    "SelfSubjectAccessReview", "selfsubjectaccessreviews", "authorization.k8s.io", namespaced=False
)
SCALED_OBJECTS = Resource("ScaledObject", "scaledobjects", "keda.sh", "v1alpha1")
LEADER_WORKER_SETS = Resource("LeaderWorkerSet", "leaderworkersets", "leaderworkerset.x-k8s.io")
ARGO_APPLICATIONS = Resource("Application", "applications", "argoproj.io", "v1alpha1")
FLUX_KUSTOMIZATIONS = Resource("Kustomization", "kustomizations", "kustomize.toolkit.fluxcd.io")
FLUX_HELM_RELEASES = Resource("HelmRelease", "helmreleases", "helm.toolkit.fluxcd.io", "v2")
