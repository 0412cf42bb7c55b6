{{/*
Makes the authority and the certificates of server and webhook, once for all templates, into .Values.made. Keeps those of
an earlier release: the operator renews certificates by itself.
*/}}
{{- define "matryoshka.made" -}}
{{- if and (eq .Values.certificates.mode "generate") (not (hasKey .Values "made")) -}}
{{- $namespace := .Release.Namespace -}}
{{- $made := dict -}}
{{- $kept := lookup "v1" "Secret" $namespace "matryoshka-ca" -}}
{{- $ca := "" -}}
{{- if $kept -}}
{{- $ca = buildCustomCert (index $kept.data "tls.crt") (index $kept.data "tls.key") -}}
{{- else -}}
{{- $ca = genCAWithKey "matryoshka" 3650 (genPrivateKey "ecdsa") -}}
{{- end -}}
{{- $_ := set $made "authority" $ca -}}
{{- range $name := list "server" "webhook" -}}
{{- $service := printf "matryoshka-%s" $name -}}
{{- $names := list $service (printf "%s.%s" $service $namespace) (printf "%s.%s.svc" $service $namespace) -}}
{{- $ips := list -}}
{{- if eq $name "server" -}}
{{- range $.Values.server.addresses -}}
{{- if or (contains ":" .) (regexMatch "^[0-9.]+$" .) -}}{{- $ips = append $ips . -}}{{- else -}}{{- $names = append $names . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $for := join "," (concat $names $ips) -}}
{{- $present := lookup "v1" "Secret" $namespace (printf "%s-tls" $service) -}}
{{- $annotations := dict -}}
{{- if $present -}}{{- $annotations = $present.metadata.annotations | default dict -}}{{- end -}}
{{- if and $kept $present (eq (index $annotations "ecs.yun.com/certificate-for" | default "") $for) -}}
{{- $_ := set $made $name (dict "Cert" (index $present.data "tls.crt" | b64dec) "Key" (index $present.data "tls.key" | b64dec) "for" $for) -}}
{{- else -}}
{{- $pair := genSignedCertWithKey $service $ips $names 365 $ca (genPrivateKey "ecdsa") -}}
{{- $_ := set $made $name (dict "Cert" $pair.Cert "Key" $pair.Key "for" $for) -}}
{{- end -}}
{{- end -}}
{{- $_ := set .Values "made" $made -}}
{{- end -}}
{{- end }}

{{/* Returns the PEM of the authority; empty if another program knows it. */}}
{{- define "matryoshka.authority" -}}
{{- include "matryoshka.made" . -}}
{{- if eq .Values.certificates.mode "generate" -}}{{ .Values.made.authority.Cert }}
{{- else if eq .Values.certificates.mode "existing" -}}{{ required "certificates.authority: is missing; give the PEM of the authority" .Values.certificates.authority }}
{{- end -}}
{{- end }}
