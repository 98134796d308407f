{{/* Names and labels; src/shoal/kubernetes/install/naming.py has the same, and a test holds both equal. */}}

{{- define "shoal.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $name := ternary .Release.Name (printf "%s-shoal" .Release.Name) (contains "shoal" .Release.Name) -}}
{{- printf "%s-operator" $name | trunc 54 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "shoal.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "shoal.fullname" .) -}}
{{- end }}

{{- define "shoal.selector" -}}
app.kubernetes.io/name: shoal
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "shoal.labels" -}}
{{ include "shoal.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: shoal
{{- end }}

{{- define "shoal.devicePlugin" -}}
{{- include "shoal.fullname" . -}}-gpu
{{- end }}

{{- define "shoal.devicePluginSelector" -}}
app.kubernetes.io/name: shoal
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: device-plugin
{{- end }}

{{- define "shoal.devicePluginLabels" -}}
{{ include "shoal.devicePluginSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: shoal
{{- end }}

{{- define "shoal.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{- define "shoal.leaseNamespace" -}}
{{- .Values.operator.watchNamespace | default .Release.Namespace -}}
{{- end }}

{{- define "shoal.webhookNamespaces" -}}
{{- $own := dict -}}
{{- with .Values.operator.watchNamespace -}}
{{- $own = dict "matchLabels" (dict "kubernetes.io/metadata.name" .) -}}
{{- end -}}
{{- toYaml (.Values.webhook.namespaceSelector | default $own) -}}
{{- end }}

{{- define "shoal.subjects" -}}
- kind: ServiceAccount
  name: {{ include "shoal.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}
