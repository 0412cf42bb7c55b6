# Makes a host ready for kubeadm: kernel settings, containerd, CNI plugins, kubelet, images. Downloads and imports
# run side by side; what is there already, by the sum it was installed from, is left.
set -u
state=/etc/matryoshka/installed
work=/var/lib/matryoshka
mkdir -p "$state" "$work" /etc/kubernetes/manifests
export PATH=/usr/local/sbin:/usr/local/bin:$PATH

changed() { echo "changed: $*"; }
fail() { echo "$*" >&2; exit 1; }

# put PATH MODE: standard input becomes the file, if it is not that already.
put() {
  local new; new=$(mktemp "$work/put.XXXXXX"); cat > "$new"
  if cmp -s "$new" "$1"; then rm -f "$new"; return 1; fi
  mkdir -p "${1%/*}"; chmod "$2" "$new"; mv -f "$new" "$1"; changed "$1"
}

sum_of() { cat "$state/$1" 2>/dev/null; }

# fetch NAME PATH SHA256 → file $work/NAME, checked.
fetch() {
  curl -fsS --retry 5 --retry-delay 1 --retry-all-errors --connect-timeout 10 --max-time 900 -o "$work/$1" "$ARTIFACTS_BASE_URL/$2" 2> "$work/$1.err" ||
    fail "cannot fetch $ARTIFACTS_BASE_URL/$2: $(tail -1 "$work/$1.err")"
  echo "$3  $work/$1" | sha256sum --check --status || fail "$2 does not have the sum $3"
  rm -f "$work/$1.err"
}

binary() { # NAME PATH SHA256 TARGET
  [ "$(sum_of "$1")" = "$3" ] && [ -x "$4" ] && return
  fetch "$1" "$2" "$3"
  chmod 755 "$work/$1"; mv -f "$work/$1" "$4"; echo "$3" > "$state/$1"; changed "$1"
}

archive() { # NAME PATH SHA256 FOLDER CHECK
  [ "$(sum_of "$1")" = "$3" ] && [ -x "$5" ] && return
  fetch "$1" "$2" "$3"
  mkdir -p "$4"
  tar -xzf "$work/$1" -C "$4" --no-same-owner --no-overwrite-dir || fail "cannot unpack $1"
  rm -f "$work/$1"; echo "$3" > "$state/$1"; changed "$1"
}

image() { # IMAGE PATH SHA256
  local name=image-${1//[\/:]/_} got
  [ "$(sum_of "$name")" = "$3" ] && grep -qxF "$1" "$work/images" && return
  fetch "$name" "$2" "$3"
  got=$(ctr -n k8s.io images import "$work/$name" 2>&1) || fail "cannot import $1: $got"
  # The archive's own tag may name the architecture or another registry.
  got=$(tar -xOf "$work/$name" --wildcards '*manifest.json' | sed -n 's/.*"RepoTags":\["\([^"]*\)".*/\1/p')
  [ "$got" = "$1" ] || ctr -n k8s.io images tag --force "$got" "$1" > /dev/null || fail "cannot tag $got as $1"
  rm -f "$work/$name"; echo "$3" > "$state/$name"; changed "$1"
}

kernel() {
  local setting name
  if [ ! -e /etc/matryoshka/sysctl.before ]; then
    for name in net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables net.bridge.bridge-nf-call-ip6tables vm.overcommit_memory kernel.panic kernel.panic_on_oops; do
      setting=$(sysctl -n "$name" 2>/dev/null) && echo "$name=$setting"
    done > /etc/matryoshka/sysctl.before
    nft list tables > /etc/matryoshka/nft.before 2>/dev/null
  fi
  printf 'overlay\nbr_netfilter\n' | put /etc/modules-load.d/matryoshka.conf 644 &&
    modprobe -a overlay br_netfilter 2>/dev/null
  printf 'net.ipv4.ip_forward = 1\n-net.bridge.bridge-nf-call-iptables = 1\n-net.bridge.bridge-nf-call-ip6tables = 1\n' |
    put /etc/sysctl.d/99-matryoshka.conf 644 && sysctl -q -p /etc/sysctl.d/99-matryoshka.conf 2>/dev/null
  [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || sysctl -q net.ipv4.ip_forward=1 || fail 'cannot set net.ipv4.ip_forward'
  if [ -n "$RESOLV_NAMESERVERS" ]; then
    printf 'nameserver %s\n' $RESOLV_NAMESERVERS | put /etc/kubernetes/resolv.conf 644
  fi
  if [ -n "$ENDPOINT_ADDRESS" ] && [ "$ENDPOINT_ADDRESS" != "$ENDPOINT_NAME" ]; then
    local line="$ENDPOINT_ADDRESS $ENDPOINT_NAME # matryoshka $CLUSTER_ID"
    if ! grep -qxF "$line" /etc/hosts; then
      # In place: the file may be a mount.
      { grep -v '# matryoshka ' /etc/hosts; echo "$line"; } > "$work/hosts" && cat "$work/hosts" > /etc/hosts
      rm -f "$work/hosts"; changed /etc/hosts
    fi
  fi
}

units() {
  put /etc/systemd/system/kubelet.service 644 <<'U'
[Unit]
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
WantedBy=multi-user.target
U
  put /etc/systemd/system/kubelet.service.d/10-kubeadm.conf 644 <<'U'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=
ExecStart=/usr/local/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
U
  put /etc/systemd/system/containerd.service 644 <<'U'
[Unit]
Description=containerd container runtime
Documentation=https://containerd.io
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
  put /etc/containerd/config.toml 644 <<< "$CONTAINERD_CONFIG"
}

lane_runtime() {
  binary runc "$RUNC_PATH" "$RUNC_SHA256" /usr/local/bin/runc
  archive containerd "$CONTAINERD_PATH" "$CONTAINERD_SHA256" /usr/local /usr/local/bin/containerd
  local before; before=$(cat "$state/containerd.running" 2>/dev/null)
  local now; now=$(cat "$state/containerd" /etc/containerd/config.toml /etc/systemd/system/containerd.service | sha256sum)
  if [ "$before" != "$now" ] || ! systemctl is-active -q containerd; then
    systemctl enable -q containerd 2>/dev/null; systemctl restart containerd || fail "containerd does not start: $(journalctl -u containerd -n 5 --no-pager -o cat)"
    echo "$now" > "$state/containerd.running"; changed containerd.service
  fi
  ctr -n k8s.io images ls -q > "$work/images" || fail 'containerd does not answer'
}

lane_kubernetes() {
  binary kubelet "$KUBELET_PATH" "$KUBELET_SHA256" /usr/local/bin/kubelet
  binary kubeadm "$KUBEADM_PATH" "$KUBEADM_SHA256" /usr/local/bin/kubeadm
  [ -z "$KUBECTL_PATH" ] || binary kubectl "$KUBECTL_PATH" "$KUBECTL_SHA256" /usr/local/bin/kubectl
  archive cni-plugins "$CNI_PATH" "$CNI_SHA256" /opt/cni/bin /opt/cni/bin/loopback
  if [ -n "$FLANNEL_PATH" ]; then
    archive flannel-cni-plugin "$FLANNEL_PATH" "$FLANNEL_SHA256" /opt/cni/bin /opt/cni/bin/flannel-amd64
    [ -e /opt/cni/bin/flannel ] || cp /opt/cni/bin/flannel-amd64 /opt/cni/bin/flannel
  fi
}

kernel
units
# A failing lane ends its subshell with the reason on standard error; the others are still awaited.
( lane_runtime ) & runtime=$!
( lane_kubernetes ) & kubernetes=$!
wait "$runtime" || { wait; exit 1; }
failed=0 pids=
while read -r name path sum; do
  [ -n "$name" ] || continue
  ( image "$name" "$path" "$sum" ) & pids="$pids $!"
done <<< "$IMAGES"
for pid in $kubernetes $pids; do wait "$pid" || failed=1; done
[ "$failed" = 0 ] || exit 1
if ! systemctl is-enabled -q kubelet 2>/dev/null; then
  systemctl daemon-reload; systemctl enable -q kubelet; changed kubelet.service
fi
rm -f "$work/images"
if [ -e /etc/matryoshka/joined ]; then
  echo "result: joined=$(cat /etc/matryoshka/joined)"
  systemctl is-active -q kubelet || { systemctl start kubelet && changed 'kubelet started'; }
else
  echo 'result: joined='
fi
