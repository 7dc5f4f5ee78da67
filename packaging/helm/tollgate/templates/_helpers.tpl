{{- define "tollgate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tollgate.select" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tollgate.labels" -}}
{{ include "tollgate.select" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* The config of the values, with the names of the Service among its hosts. */ -}}
{{- define "tollgate.config" -}}
{{- $name := include "tollgate.name" . }}
{{- $own := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) }}
{{- $own = append $own (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) }}
{{- $hosts := concat (.Values.config.hosts | default list) $own | uniq }}
{{- toYaml (merge (dict "hosts" $hosts) .Values.config) }}
{{- end }}

{{- /* Pods are asked by address, and the gateway only answers to names that it knows. */ -}}
{{- define "tollgate.probe" -}}
port: http
scheme: {{ if .Values.config.tls }}HTTPS{{ else }}HTTP{{ end }}
httpHeaders: [{ name: Host, value: localhost }]
{{- end }}
