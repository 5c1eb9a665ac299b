"""Prometheus rules for vLLM: recording rules that speak of every version alike, and alerts that
fire on harm, not on heat.

    Terms (limits, version, labels) ─▶ recorded: one name per quantity, whatever the version calls it
                                    ─▶ named/: one file per alert ─▶ groups ─▶ what Prometheus, Thanos, Mimir or the operator reads
                                                                  ─▶ inhibitions: one incident is one page

Nothing of `lint/rules/` is here: those judge manifests before they are merged, these watch what
runs.
"""
