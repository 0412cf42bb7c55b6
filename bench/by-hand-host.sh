# Runs on each host, called by by-hand.sh with role, base and files set. It does all that precedes kubeadm.
set -eu
work=/var/lib/by-hand
mkdir -p "$work" /opt/cni/bin /etc/containerd /etc/kubernetes/manifests
cd "$work"
modprobe -a overlay br_netfilter 2> /dev/null || true
sysctl -q -w net.ipv4.ip_forward=1
# Lab hosts need restrict_oom_score_adj and disable_apparmor (lab/inventory-vars.yaml).
cat > /etc/containerd/config.toml <<'T'
version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = 'registry.k8s.io/pause:3.10.1'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
disable_apparmor = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true
T
cat > /etc/systemd/system/containerd.service <<'U'
[Unit]
After=network.target local-fs.target
[Service]
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999
[Install]
WantedBy=multi-user.target
U
cat > /etc/systemd/system/kubelet.service <<'U'
[Unit]
After=network-online.target containerd.service
StartLimitIntervalSec=0
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=/usr/local/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
Restart=always
RestartSec=2
[Install]
WantedBy=multi-user.target
U
systemctl daemon-reload

fetch() { # NAME PATH SHA256
  curl -fsS --retry 3 --connect-timeout 10 --max-time 300 -o "$1" "$base/$2"
  echo "$3  $1" | sha256sum --check --status || { echo "$2 does not have the sum $3" >&2; return 1; }
}
install_file() { # NAME PATH SHA256
  fetch "$@"
  case $1 in
    cni-plugins | flannel-cni-plugin) tar -xzf "$1" -C /opt/cni/bin --no-same-owner ;;
    *) chmod 755 "$1"; mv "$1" /usr/local/bin/ ;;
  esac
  [ "$1" != flannel-cni-plugin ] || mv /opt/cni/bin/flannel-amd64 /opt/cni/bin/flannel
}
runtime() { # PATH SHA256
  fetch containerd "$1" "$2"
  tar -xzf containerd -C /usr/local --no-same-owner
  systemctl enable -q --now containerd
}
import() { # NAME IMAGE
  ctr -n k8s.io images import "$1.tar" > /dev/null
  # Upstream's archives of the control plane name the architecture.
  case $1 in kube-*) ctr -n k8s.io images tag "${2/:/-amd64:}" "$2" > /dev/null ;; esac
}
declare -A fetched images
pids= containerd=
while read -r name path sum hosts image; do
  [ "$hosts" = all ] || [ "$role" = master ] || continue
  if [ "$image" != - ]; then fetch "$name.tar" "$path" "$sum" & fetched[$name]=$!; images[$name]=$image
  elif [ "$name" = containerd ]; then runtime "$path" "$sum" & containerd=$!
  else install_file "$name" "$path" "$sum" & pids="$pids $!"
  fi
done <<< "$files"
wait "$containerd"
for name in "${!fetched[@]}"; do
  wait "${fetched[$name]}"
  import "$name" "${images[$name]}" & pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
rm -f ./*.tar
systemctl enable -q kubelet
