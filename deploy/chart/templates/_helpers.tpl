{{- define "barostat.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end -}}
{{- define "barostat.operator" -}}
{{ include "barostat.name" . }}-{{ if .Values.actuator.enabled }}actuator{{ else }}observer{{ end }}
{{- end -}}
{{- define "barostat.watched" -}}
{{ .Values.watchNamespace | default .Release.Namespace }}
{{- end -}}
{{- define "barostat.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: barostat
{{- end -}}
{{- define "barostat.selector" -}}
app.kubernetes.io/name: barostat-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "barostat.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- define "barostat.podSecurity" -}}
{runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
{{- end -}}
{{- define "barostat.containerSecurity" -}}
{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end -}}
{{- define "barostat.role" -}}
{{ if eq .Values.scope "cluster" }}ClusterRole{{ else }}Role{{ end }}
{{- end -}}
{{/* A Role and its binding, or the same for the whole cluster. Arguments: root, name (suffix), account, rules. */}}
{{- define "barostat.grant" -}}
{{- $root := .root -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ include "barostat.role" $root }}
metadata:
  name: {{ include "barostat.name" $root }}-{{ .name }}
  {{- if ne $root.Values.scope "cluster" }}
  namespace: {{ include "barostat.watched" $root }}
  {{- end }}
  labels: {{- include "barostat.labels" $root | nindent 4 }}
rules:
{{ .rules | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ include "barostat.role" $root }}Binding
metadata:
  name: {{ include "barostat.name" $root }}-{{ .name }}
  {{- if ne $root.Values.scope "cluster" }}
  namespace: {{ include "barostat.watched" $root }}
  {{- end }}
  labels: {{- include "barostat.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ include "barostat.role" $root }}
  name: {{ include "barostat.name" $root }}-{{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ $root.Release.Namespace }}
{{- end -}}
