#!/usr/bin/env bash
# Creates control planes and workers by hand, as an expert types kubeadm, with all possible steps in parallel.
# `make bench-create` compares the operator with it, so that the comparison is with the fastest known way.
#
#   by-hand.sh FILES KUBECONFIG_OUT MASTER=IP… WORKER=IP… ETCD=IP…
#
# FILES has a line for each file: name, path, SHA-256, `all` or `masters`, image or `-`.
# ARTIFACTS_URL, SSH_KEY, KNOWN_HOSTS: the source of files, and how SSH reaches the hosts.
# MASTERS: the number of control planes (1).
# MEMBERS: the number of external etcd hosts, the last ones (0: etcd is beside the control planes).
# `mark SECONDS WHAT` lines on standard output report progress.
set -euo pipefail
files=$(cat "$1") out=$2; shift 2
here=$(cd "$(dirname "$0")" && pwd)
: "${ARTIFACTS_URL:?}" "${SSH_KEY:?}" "${KNOWN_HOSTS:?}"
names=("${@%%=*}") ips=("${@##*=}")
nodes=$((${#ips[@]} - ${MEMBERS:-0}))
members=("${ips[@]:nodes}") member_names=("${names[@]:nodes}") names=("${names[@]:0:nodes}")
master=${ips[0]} further=("${ips[@]:1:${MASTERS:-1}-1}") workers=("${ips[@]:${MASTERS:-1}:nodes-${MASTERS:-1}}")
ignore='[SystemVerification]'
control=$(mktemp -d)

on() { # IP COMMAND: one connection a host, opened once
  local ip=$1; shift
  ssh -i "$SSH_KEY" -o UserKnownHostsFile="$KNOWN_HOSTS" -o StrictHostKeyChecking=yes -o BatchMode=yes -o LogLevel=ERROR \
    -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ControlMaster=auto -o ControlPersist=60 -o ControlPath="$control/%h" "root@$ip" "$@"
}
close() {
  for ip in "${ips[@]}"; do ssh -o ControlPath="$control/%h" -O exit "root@$ip" 2> /dev/null || true; done
  rm -rf "$control"
}
# Sends standard input to a host's shell, which reads all of it before it runs any, so that no command consumes the rest.
script() { # IP VARIABLE=VALUE…
  local ip=$1; shift
  { for pair in "$@"; do printf '%s=%q\n' "${pair%%=*}" "${pair#*=}"; done; echo 'main() {'; cat; echo '}'; echo 'main < /dev/null'; } |
    on "$ip" 'timeout 600 bash -s'
}
mark() { echo "mark $EPOCHREALTIME $*"; }
trap close EXIT

# Creates a CA for etcd, a certificate for each member and one for the API servers.
pki=$control/etcd external= initial=
issue() { # NAME EXTENSIONS
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$pki/$1.key" -out "$pki/$1.csr" 2> /dev/null
  openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -days 30 -extfile <(echo "$2") -out "$pki/$1.crt" 2> /dev/null
}
if [ ${#members[@]} -gt 0 ]; then
  mkdir "$pki"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=etcd-ca -days 30 -keyout "$pki/ca.key" -out "$pki/ca.crt" 2> /dev/null
  issue client 'extendedKeyUsage=clientAuth'
  urls=()
  for at in "${!members[@]}"; do
    issue "${member_names[$at]}" "extendedKeyUsage=serverAuth,clientAuth
subjectAltName=IP:${members[$at]}"
    initial="$initial${initial:+,}${member_names[$at]}=https://${members[$at]}:2380" urls+=("https://${members[$at]}:2379")
  done
  external="
etcd: {external: {endpoints: [$(IFS=,; echo "${urls[*]}")], caFile: /etc/kubernetes/pki/etcd/ca.crt, certFile: /etc/kubernetes/pki/apiserver-etcd-client.crt, keyFile: /etc/kubernetes/pki/apiserver-etcd-client.key}}"
fi
start_member() { # IP NAME
  script "$1" name="$2" ip="$1" initial="$initial" base="$ARTIFACTS_URL" files="$files" ca="$(cat "$pki/ca.crt")" cert="$(cat "$pki/$2.crt")" \
    key="$(cat "$pki/$2.key")" < "$here/by-hand-etcd.sh"
  mark 'etcd started'
}

prepare() { # IP ROLE
  script "$1" role="$2" base="$ARTIFACTS_URL" files="$files" < "$here/by-hand-host.sh"
  mark "$2 prepared"
}

key=$(openssl rand -hex 32)
token=$(openssl rand -hex 3).$(openssl rand -hex 8)
init() { # on the master; prints its authority
  script "$master" config="apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens: [{token: $token, ttl: 30m0s}]
certificateKey: $key
nodeRegistration: {ignorePreflightErrors: $ignore, imagePullPolicy: IfNotPresent}
localAPIEndpoint: {advertiseAddress: $master}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: ${KUBE_VERSION:?}
controlPlaneEndpoint: $master:6443
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}$external
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
failCgroupV1: false
oomScoreAdj: 0
evictionHard: {nodefs.available: 1Gi, imagefs.available: 1Gi, memory.available: 100Mi}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0}" etcd_ca="$(cat "$pki/ca.crt" 2> /dev/null)" cert="$(cat "$pki/client.crt" 2> /dev/null)" key="$(cat "$pki/client.key" 2> /dev/null)" <<'HOST'
umask 077
if [ -n "$cert" ]; then
  mkdir -p /etc/kubernetes/pki/etcd
  echo "$etcd_ca" > /etc/kubernetes/pki/etcd/ca.crt
  echo "$cert" > /etc/kubernetes/pki/apiserver-etcd-client.crt; echo "$key" > /etc/kubernetes/pki/apiserver-etcd-client.key
fi
echo "$config" > /root/init.yaml
kubeadm init --upload-certs --config /root/init.yaml > /root/init.log 2>&1 || { grep -v addrConn /root/init.log | tail -20 >&2; exit 1; }
base64 -w0 /etc/kubernetes/pki/ca.crt
HOST
}
join() { # IP AUTHORITY [CONTROL-PLANE]; with the authority at hand nobody awaits the signature of cluster-info
  local control_plane=
  [ -z "${3-}" ] || control_plane=$'\n'"controlPlane: {certificateKey: $key, localAPIEndpoint: {advertiseAddress: $1}}"
  script "$1" config="apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {ignorePreflightErrors: $ignore, imagePullPolicy: IfNotPresent}
discovery: {tlsBootstrapToken: $token, file: {kubeConfigPath: /root/discovery.conf}}$control_plane" discovery="apiVersion: v1
kind: Config
clusters: [{name: '', cluster: {server: 'https://$master:6443', certificate-authority-data: $2}}]" <<'HOST'
umask 077
echo "$config" > /root/join.yaml
echo "$discovery" > /root/discovery.conf
kubeadm join --config /root/join.yaml > /root/join.log 2>&1 || { grep -v addrConn /root/join.log | tail -20 >&2; exit 1; }
HOST
}
network() { # the product's own manifest, filled in with sed
  local image manifest
  image=$(awk '$1 == "flannel" { print $5 }' <<< "$files")
  manifest=$(sed -e '/^{% if enforces_policies/,/^{% endif/d' -e 's#{{ flannel_configuration | to_json }}#{"Network": "10.244.0.0/16", "EnableNFTables": false, "Backend": {"Type": "vxlan"}}#' -e 's#{{ flannel_command | to_json }}#[/opt/bin/flanneld, --ip-masq, --kube-subnet-mgr, --iface=$(NODE_IP)]#' -e "s|{{ flannel_image }}|$image|" \
    -e "s|{{ control_plane_endpoint_name }}|$master|" -e 's|{{ control_plane_endpoint_port }}|6443|' "$here/../ansible/roles/network/templates/flannel.yaml.j2")
  case $manifest in *'{{'* | *'{%'*) echo 'the template of flannel has a variable that is not filled in here' >&2; return 1 ;; esac
  script "$master" manifest="$manifest" <<'HOST'
export KUBECONFIG=/etc/kubernetes/admin.conf
for try in $(seq 20); do out=$(kubectl apply --server-side -f - <<< "$manifest" 2>&1) && exit; sleep 0.5; done
echo "$out" >&2; exit 1
HOST
}

preparing=() getting=() starting=()
for at in "${!members[@]}"; do start_member "${members[$at]}" "${member_names[$at]}" & starting+=($!); done
for ip in "${further[@]}"; do prepare "$ip" master & getting+=($!); done
for ip in "${workers[@]}"; do prepare "$ip" worker & preparing+=($!); done
prepare "$master" master
for pid in "${starting[@]}"; do wait "$pid"; done
authority=$(init)
mark 'control plane initialised'
network & network=$!
joining=()
for at in "${!workers[@]}"; do
  wait "${preparing[$at]}"
  join "${workers[$at]}" "$authority" & joining+=($!)
done
for at in "${!further[@]}"; do
  wait "${getting[$at]}"
  join "${further[$at]}" "$authority" control-plane & joining+=($!)
done
for pid in "${joining[@]}"; do wait "$pid"; done
mark 'all joined'
wait "$network"
# The product's own scripts wait at the end: until nodes are Ready, system pods run and the pod network carries packets.
cat "$here"/../ansible/{files/prelude.sh,roles/readiness/files/{ready,reach}.sh} |
  script "$master" ROLE=readiness NETWORK=flannel NODES="${names[*]}" CHANGED= WAIT_SECONDS=300 LABELS= UNTAINT=
mark 'nodes Ready, system pods running'
(umask 077; on "$master" cat /etc/kubernetes/admin.conf > "$out")
