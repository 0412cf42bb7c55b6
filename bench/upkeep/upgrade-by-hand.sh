#!/usr/bin/env bash
# Upgrades a cluster by hand, as an expert follows "Upgrading kubeadm clusters" (kubernetes.io): control planes one by one,
# then workers one by one, each drained before. `make bench-upkeep` compares the operator with it.
#
#   upgrade-by-hand.sh FILES MASTERS MASTER=IP… WORKER=IP…
#
# FILES has a line for each file: name, path, SHA-256, `all` or `masters`, image or `-`. MASTERS: number of control planes.
# ARTIFACTS_URL, KUBE_VERSION, SSH_KEY, KNOWN_HOSTS: as for by-hand.sh.
# `mark SECONDS WHAT` lines on standard output report progress. Files are in place at the first one.
set -euo pipefail
files=$(cat "$1") masters=$2; shift 2
: "${ARTIFACTS_URL:?}" "${KUBE_VERSION:?}" "${SSH_KEY:?}" "${KNOWN_HOSTS:?}"
ips=("${@##*=}")
control=$(mktemp -d)

on() { # IP COMMAND
  local ip=$1; shift
  ssh -i "$SSH_KEY" -o UserKnownHostsFile="$KNOWN_HOSTS" -o StrictHostKeyChecking=yes -o BatchMode=yes -o LogLevel=ERROR \
    -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ControlMaster=auto -o ControlPersist=60 -o ControlPath="$control/%h" "root@$ip" "$@"
}
close() {
  for ip in "${ips[@]}"; do ssh -o ControlPath="$control/%h" -O exit "root@$ip" 2> /dev/null || true; done
  rm -rf "$control"
}
trap close EXIT
# Sends standard input to a host's shell, behind variables.
script() { # IP VARIABLE=VALUE…
  local ip=$1; shift
  { for pair in "$@"; do printf '%s=%q\n' "${pair%%=*}" "${pair#*=}"; done; echo 'main() {'; cat; echo '}'; echo 'main < /dev/null'; } |
    on "$ip" 'timeout 900 bash -s'
}
mark() { echo "mark $EPOCHREALTIME $*"; }

place() { # IP ROLE
  script "$1" role="$2" base="$ARTIFACTS_URL" files="$files" <<'HOST'
set -eu
mkdir -p /root/next && cd /root/next
while read -r name path sum hosts image; do
  [ "$hosts" = all ] || [ "$role" = master ] || continue
  if [ "$image" != - ]; then
    ! ctr -n k8s.io images ls -q | grep -qxF "$image" || continue
    curl -fsS -o "$name.tar" "$base/$path"
    ctr -n k8s.io images import "$name.tar" > /dev/null
    # The archives of Kubernetes' images have tags with the architecture.
    ctr -n k8s.io images ls -q | grep -qxF "$image" || ctr -n k8s.io images tag "${image/:/-amd64:}" "$image" > /dev/null
    rm "$name.tar"
  else
    case $name in kubeadm | kubelet | kubectl) curl -fsS -o "$name" "$base/$path"; chmod 755 "$name" ;; esac
  fi
done <<< "$files"
HOST
}
upgrade() { # IP COMMAND: kubeadm's command for this host
  script "$1" does="$2" version="$KUBE_VERSION" <<'HOST'
set -eu
export KUBECONFIG=/etc/kubernetes/admin.conf
cat > /root/upgrade.yaml <<U
apiVersion: kubeadm.k8s.io/v1beta4
kind: UpgradeConfiguration
apply: {kubernetesVersion: $version, ignorePreflightErrors: [SystemVerification], imagePullPolicy: IfNotPresent}
node: {ignorePreflightErrors: [SystemVerification], imagePullPolicy: IfNotPresent}
U
install /root/next/kubeadm /usr/local/bin/kubeadm
kubeadm upgrade $does --config /root/upgrade.yaml > /root/upgrade.log 2>&1 || { grep -v addrConn /root/upgrade.log | tail -20 >&2; exit 1; }
[ ! -e /root/next/kubectl ] || install /root/next/kubectl /usr/local/bin/kubectl
install /root/next/kubelet /usr/local/bin/kubelet
systemctl restart kubelet
HOST
}
kubectl() { on "${ips[0]}" kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }
node_of() { kubectl get nodes -o "jsonpath='{range .items[*]}{.metadata.name} {.status.addresses[?(@.type==\"InternalIP\")].address}{\"\\n\"}{end}'" | awk -v ip="$1" '$2 == ip { print $1 }'; }
ready() { # NODE
  local try
  for try in $(seq 300); do
    [ "$(kubectl get node "$1" -o "jsonpath='{.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type==\"Ready\")].status}'" 2> /dev/null)" = "$KUBE_VERSION True" ] && return
    sleep 1
  done
  echo "$1 is not Ready" >&2
  return 1
}

placing=()
for at in "${!ips[@]}"; do
  if [ "$at" -lt "$masters" ]; then role=master; else role=worker; fi
  place "${ips[$at]}" $role & placing+=($!)
done
for pid in "${placing[@]}"; do wait "$pid"; done
mark 'files in place'
for at in "${!ips[@]}"; do
  ip=${ips[$at]} node=$(node_of "${ips[$at]}")
  if [ "$at" = 0 ]; then upgrade "$ip" "apply $KUBE_VERSION --yes"
  elif [ "$at" -lt "$masters" ]; then upgrade "$ip" node
  else
    kubectl drain "$node" --ignore-daemonsets > /dev/null
    upgrade "$ip" node
  fi
  ready "$node"
  [ "$at" -lt "$masters" ] || kubectl uncordon "$node" > /dev/null
  mark "$node upgraded"
done
