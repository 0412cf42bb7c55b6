{{/* Returns a reference of an image: by digest, by its tag, or by the version of the chart. */}}
{{- define "matryoshka.image" -}}
{{- $image := .image -}}
{{- if $image.digest -}}{{ $image.repository }}@{{ $image.digest }}
{{- else -}}{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end }}

{{/* Returns the name of a ServiceAccount as a user of the API. */}}
{{- define "matryoshka.user" -}}system:serviceaccount:{{ .root.Release.Namespace }}:matryoshka-{{ .name }}{{- end }}

{{/* Returns fields of all pods of the operator. */}}
{{- define "matryoshka.pod" -}}
# The kubelet does not evict it when a disk fills, and the scheduler places it first.
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: [{{ range $index, $name := . }}{{ if $index }}, {{ end }}{ name: {{ $name }} }{{ end }}]
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
# On several hosts, another one takes over a minute after this one is away.
tolerations:
  {{- range . }}
  - {{ toJson . }}
  {{- end }}
{{- end }}
# Service links would be variables MATRYOSHKA_…_PORT, which are names of our settings.
enableServiceLinks: false
{{- end }}

{{/* Returns probes: a busy machine answers late. */}}
{{- define "matryoshka.probes" -}}
# A busy machine answers late. So the kubelet restarts it only after minutes of silence; half a minute makes it
# unready.
startupProbe: { httpGet: { path: /livez, port: probes }, periodSeconds: 2, timeoutSeconds: 10, failureThreshold: 90 }
readinessProbe: { httpGet: { path: /readyz, port: probes }, periodSeconds: 2, timeoutSeconds: 10, failureThreshold: 15 }
livenessProbe: { httpGet: { path: /livez, port: probes }, periodSeconds: 20, timeoutSeconds: 15, failureThreshold: 6 }
{{- end }}

{{/* Returns settings that differ from the defaults of the programs. */}}
{{- define "matryoshka.settings" -}}
- { name: MATRYOSHKA_IDENTITY, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
{{- if ne .Release.Namespace "matryoshka-system" }}
- { name: MATRYOSHKA_NAMESPACE, value: {{ .Release.Namespace }} }
{{- end }}
{{- if .Values.allowHooks }}
- { name: MATRYOSHKA_ALLOW_HOOKS, value: "true" }
{{- end }}
{{- end }}

{{/* Returns two replicas on two nodes, or both on one if there is only one. */}}
{{- define "matryoshka.apart" -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm: { topologyKey: kubernetes.io/hostname, labelSelector: { matchLabels: { app: {{ . }} } } }
{{- end }}

{{- /* Address of the REST API, as far as values say it. */}}
{{- define "matryoshka.url" -}}
{{- $address := first .Values.server.addresses | default "ADDRESS" -}}
{{- if eq .Values.server.service.type "NodePort" -}}
https://{{ $address }}:{{ .Values.server.service.nodePort | default "NODE-PORT" }}
{{- else if and (eq .Values.server.service.type "ClusterIP") (not .Values.server.addresses) -}}
https://matryoshka-server.{{ .Release.Namespace }}.svc
{{- else -}}
https://{{ $address }}
{{- end }}
{{- end }}
