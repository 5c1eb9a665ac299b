"""The operator: finds every vLLM, watches it, reports incidents, and heals within its autonomy.

incident         PressureIncident, the object that a cluster keeps of each incident, and its CRD
policy           how far the operator may go with one workload: annotations, limits, quiet hours
step             step(state, seen, now) -> state, commands: all decisions, pure
predictions      trends of one workload that end in harm if they go on, pure
engines          pods of every vLLM, followed and scraped; verdicts by workload
incident_objects PressureIncidents, Events and statuses in the cluster, kept as the state wants them
lease            one operator acts: a coordination.k8s.io Lease
healing          remedies, carried out by the same machine as `barostat mitigate`
notifications    webhooks that go out; listening: metrics, probes, and Alertmanager's webhook
loop             all of it, once every interval

`policy`, `step`, `predictions`, `pages` and `verdict` are pure; the others wait for the cluster.
"""
