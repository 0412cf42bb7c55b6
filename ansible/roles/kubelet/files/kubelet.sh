# kubelet, kubeadm, on control planes kubectl, and the kubelet's unit.
own tree /etc/kubernetes /var/lib/kubelet /run/kubernetes /var/log/pods /var/log/containers \
  dir /usr/libexec tree /usr/libexec/kubernetes dir /etc/systemd/system/kubelet.service.d unit kubelet.service \
  file /etc/systemd/system/kubelet.service /etc/systemd/system/kubelet.service.d/10-kubeadm.conf \
  /usr/local/bin/kubelet /usr/local/bin/.kubelet.matryoshka /usr/local/bin/kubeadm /usr/local/bin/.kubeadm.matryoshka \
  ${KUBECTL_PATH:+/usr/local/bin/kubectl /usr/local/bin/.kubectl.matryoshka}
mkdir -p /etc/kubernetes/manifests || exit 1
write_resolv_conf
put /etc/systemd/system/kubelet.service 644 '[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target containerd.service
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/kubelet
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target'
# With what it logs in to registries for pods of whatever namespace (kubernetes.io, Configuring nodes to authenticate to a
# private registry). Kept beside: a reset of kubeadm empties /var/lib/kubelet, and each start of the kubelet fills it again.
login=/etc/matryoshka/registry-login.json used=/var/lib/kubelet/config.json copies=
if [ -n "$REGISTRY_LOGIN" ] || is_made file $login; then
  # Somebody's own, from before we had one.
  if ! is_made file $login && [ -e "$R$used" ]; then mv -f "$R$used" "$R$used.set-aside"; changed "$used.set-aside"; fi
  # One that was taken away leaves an empty one, as the unit names it.
  auths='{"auths":{}}'
  [ -z "$REGISTRY_LOGIN" ] || auths=$(printf %s "$REGISTRY_LOGIN" | base64 -d) || fail 'the login of registries is no base64'
  put $login 600 "$auths"
  # A kubelet that runs reads it at its next pull. Without it pulls fail; without a kubelet all does.
  write_file "$R$used" 600 "$auths"$'\n' || exit 1
  copies="ExecStartPre=-/usr/bin/install -D -m 600 $login $used"
fi
put /etc/systemd/system/kubelet.service.d/10-kubeadm.conf 644 "[Service]
Environment=\"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf\"
Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=
ExecStart=/usr/local/bin/kubelet \$KUBELET_KUBECONFIG_ARGS \$KUBELET_CONFIG_ARGS \$KUBELET_KUBEADM_ARGS
$copies"
binary kubelet "$KUBELET_PATH" "$KUBELET_SHA256" /usr/local/bin/kubelet
binary kubeadm "$KUBEADM_PATH" "$KUBEADM_SHA256" /usr/local/bin/kubeadm
[ -z "$KUBECTL_PATH" ] || binary kubectl "$KUBECTL_PATH" "$KUBECTL_SHA256" /usr/local/bin/kubectl
