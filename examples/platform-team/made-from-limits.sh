#!/bin/sh
# Writes the alerts and the admission policy of every limits file anew. In CI: nothing may differ then.
set -eu
cd "$(dirname "$0")"
for limits in models/*/limits.yaml; do
  folder=$(dirname "$limits")
  barostat rules --limits "$limits" -o prometheusrule --quiet >"$folder/rules.yaml"
  barostat check "$limits" --admission-policy --quiet >"policy/$(basename "$folder").yaml"
done
