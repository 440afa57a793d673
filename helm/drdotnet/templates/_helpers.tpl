{{/* Labels of an object; "name" (controller or agent) may be empty. */}}
{{- define "drdotnet.labels" -}}
{{- if .name }}
app.kubernetes.io/name: drdotnet-{{ .name }}
{{- end }}
app.kubernetes.io/part-of: drdotnet
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "drdotnet.image" -}}
{{- $image := .root.Values.image }}
{{- $digest := ternary $image.agentDigest $image.controllerDigest (eq .name $image.agentName) }}
{{- with $image.registry }}{{ . }}/{{ end }}{{ .name }}{{ if $digest }}@{{ $digest }}{{ else }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The port of REST and the web page, or nothing. */}}
{{- define "drdotnet.apiPort" -}}
{{- $api := .Values.controller.api }}
{{- if and $api.port $api.rest }}{{ int $api.port }}{{ end }}
{{- end }}

{{/* Whether reports may go to the controller's own folder: no store is named, or one that is builtin. */}}
{{- define "drdotnet.ownStore" -}}
{{- $own := not .Values.stores }}
{{- range .Values.stores }}{{ if not .s3 }}{{ $own = true }}{{ end }}{{ end }}
{{- if $own }}true{{ end }}
{{- end }}

{{- define "drdotnet.replicas" -}}
{{- $own := include "drdotnet.ownStore" . }}
{{- if and $own (gt (int .Values.controller.replicas) 1) }}
{{- fail "controller.replicas: more than one replica needs object storage (stores): the own store is in one replica's folder" }}
{{- end }}
{{- .Values.controller.replicas | default (ternary 1 2 (not (empty $own))) }}
{{- end }}

{{/* "yes" where the controller has its own store, or has it until this upgrade. */}}
{{- define "drdotnet.recreate" -}}
{{- $before := lookup "v1" "ConfigMap" .Release.Namespace "drdotnet-stores" | default dict }}
{{- $had := get (get $before "data" | default dict) "stores.yaml" | default "" | contains "builtin:" }}
{{- if or (include "drdotnet.ownStore" .) .Values.controller.reports.persistence.enabled $had }}yes{{ end }}
{{- end }}

{{/* What the schema could only refuse without saying what is missing. */}}
{{- define "drdotnet.checkStores" -}}
{{- $names := dict }}
{{- range $i, $store := .Values.stores }}
{{- $at := printf "stores[%d] (%s)" $i $store.name }}
{{- if eq (hasKey $store "s3") (hasKey $store "builtin") }}
{{- fail (printf "%s: give either s3 with credentialsSecret, or builtin" $at) }}
{{- end }}
{{- if and $store.s3 (not $store.credentialsSecret) }}
{{- fail (printf "%s: s3 needs credentialsSecret, the Secret with accessKeyId and secretAccessKey" $at) }}
{{- end }}
{{- if hasKey $names $store.name }}
{{- fail (printf "%s: the name stands twice; give each store a name of its own" $at) }}
{{- end }}
{{- $_ := set $names $store.name true }}
{{- end }}
{{- end }}

{{/* The file of stores, as the controller reads it. */}}
{{- define "drdotnet.stores" -}}
{{- include "drdotnet.checkStores" . -}}
stores:
{{- range .Values.stores }}
- name: {{ .name }}
  {{- if .s3 }}
  s3:
    {{- toYaml .s3 | nindent 4 }}
    credentialsFolder: /etc/drdotnet/credentials/{{ .name }}
    {{- with $.Values.agent.storageCA }}
    {{- if .configMap }}
    caFile: /etc/drdotnet/storage-ca/{{ .key }}
    {{- end }}
    {{- end }}
  {{- else }}
  builtin: {}
  {{- end }}
{{- else }}
- name: default
  builtin: {}
{{- end }}
{{- end }}

{{/* Secrets with keys of object storage that are mounted: [{name, secret, optional}]. */}}
{{- define "drdotnet.credentials" -}}
{{- range .Values.stores }}
{{- if .s3 }}
- {name: {{ .name }}, secret: {{ .credentialsSecret }}}
{{- end }}
{{- else }}
- {name: default, secret: drdotnet-store-default, optional: true}
{{- end }}
{{- end }}

{{- define "drdotnet.caConfigMap" -}}
{{- $tls := .Values.controller.tls }}
{{- if ne (empty $tls.secret) (empty $tls.caConfigMap) }}
{{- fail "controller.tls: secret and caConfigMap belong together; give both, or neither" }}
{{- end }}
{{- $tls.caConfigMap | default "drdotnet-link-ca" }}
{{- end }}

{{/* The seccomp profile of a pod; "name" is controller or agent. */}}
{{- define "drdotnet.seccomp" -}}
{{- $seccomp := .root.Values.seccomp }}
{{- if eq $seccomp.type "Localhost" -}}
{type: Localhost, localhostProfile: {{ $seccomp.folder }}/{{ .name }}.json}
{{- else -}}
{type: RuntimeDefault}
{{- end }}
{{- end }}
