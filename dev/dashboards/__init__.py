"""Grafana's dashboards as typed code: fleet, replica, traffic shape, gateway. `build.py` writes
deploy/dashboards and deploy/alerts.

They read what `barostat rules` records, which has one name for every version of vLLM. The builder
is Grafana's own foundation SDK; only `grafana.py` knows it.
"""
