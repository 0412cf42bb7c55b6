# Installs the kubelet and kubeadm, kubectl on control planes, and the kubelet's unit.
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
# The kubelet logs in to registries with this file, for pods of all namespaces (kubernetes.io, Configuring nodes to
# authenticate to a private registry). A second copy is kept: a reset by kubeadm empties /var/lib/kubelet, and each start of
# the kubelet restores it.
login=/etc/matryoshka/registry-login.json used=/var/lib/kubelet/config.json copies=
if [ -n "$REGISTRY_LOGIN" ] || is_made file $login; then
  # The file is a user's, and older than ours.
  if ! is_made file $login && [ -e "$R$used" ]; then mv -f "$R$used" "$R$used.set-aside"; changed "$used.set-aside"; fi
  # If a login is removed, an empty one stays, because the unit names the file.
  auths='{"auths":{}}'
  [ -z "$REGISTRY_LOGIN" ] || auths=$(printf %s "$REGISTRY_LOGIN" | base64 -d) || fail 'the login of registries is no base64'
  put $login 600 "$auths"
  # A running kubelet reads the file at its next pull. Without the file only pulls fail; without a kubelet everything does.
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
