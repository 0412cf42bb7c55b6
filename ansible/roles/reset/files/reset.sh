# Takes everything of a cluster off a host: afterwards it is as it was before. Safe to run on a host in any state.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:$PATH
changed() { echo "changed: $*"; }

if [ -n "$RECLAIM" ] && [ "$(cat /etc/matryoshka/reset-for 2>/dev/null)" = "$CLUSTER_ID" ]; then exit 0; fi

pod_processes() {
  find /sys/fs/cgroup -path '*kubepods*' -name cgroup.procs -exec cat {} + 2>/dev/null
  pgrep -x containerd-shim
}

# The kubelet first, so that nothing is started again; then the runtime; then what it leaves running.
for unit in kubelet containerd; do
  systemctl disable -q --now $unit 2>/dev/null
done
for try in $(seq 100); do
  left=$(pod_processes | sort -u)
  [ -n "$left" ] || break
  # shellcheck disable=SC2086
  kill -KILL $left 2>/dev/null
  sleep 0.1
done
[ -z "$(pod_processes)" ] || { echo "processes of pods do not end: $(pod_processes | tr '\n' ' ')" >&2; exit 1; }

# Mounts, deepest first; a network namespace is a mount as well.
ours='^/(var/lib/kubelet|var/lib/containerd|run/containerd|var/run/containerd|run/netns|var/run/netns)(/|$)'
for try in 1 2 3; do
  mounts=$(awk '{print $2}' /proc/mounts | grep -E "$ours" | sort -ru)
  [ -n "$mounts" ] || break
  for mount in $mounts; do umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null; done
done
rm -rf /run/netns

for link in $(ip -o link show master cni0 2>/dev/null | sed 's/^[0-9]*: \([^:@]*\).*/\1/') cni0 flannel.1 kube-ipvs0; do
  ip link show "$link" > /dev/null 2>&1 && ip link delete "$link" && changed "$link"
done

# Packet rules: whole tables of ours; in shared tables our chains only, because others have theirs there.
for table in 'ip kube-proxy' 'ip6 kube-proxy' 'ip flannel-ipv4' 'ip6 flannel-ipv6'; do
  # shellcheck disable=SC2086
  nft list table $table > /dev/null 2>&1 && nft delete table $table && changed "rules of ${table#* }"
done
for command in iptables ip6tables; do
  command -v $command > /dev/null || continue
  for table in mangle nat filter raw; do
    rules=$($command -t $table -S 2>/dev/null) || continue
    chains=$(printf '%s\n' "$rules" | sed -n 's/^-N \(\(KUBE\|CNI\|FLANNEL\)-[^ ]*\)$/\1/p')
    [ -n "$chains" ] || continue
    printf '%s\n' "$rules" | grep -E -- '^-A [^ ]+ .*-j (KUBE|CNI|FLANNEL)-' | sed 's/^-A/-D/' | while read -r rule; do
      eval "$command -t $table $rule" 2>/dev/null
    done
    for chain in $chains; do $command -t $table -F "$chain" 2>/dev/null; done
    for chain in $chains; do $command -t $table -X "$chain" 2>/dev/null; done
    changed "$command $table"
  done
done
# Tables that were made for such chains and are empty now.
if [ -e /etc/matryoshka/nft.before ]; then
  nft list tables 2>/dev/null | grep -vxFf /etc/matryoshka/nft.before | while read -r _ family table; do
    case $table in mangle | nat | filter | raw) ;; *) continue ;; esac
    nft list table "$family" "$table" | grep -qvE '^(table .*|\}|\s*(chain .*|\}|type .*|))$' || nft delete table "$family" "$table"
  done
fi

for root in $(find /sys/fs/cgroup -type d -name 'kubepods*' -prune 2>/dev/null); do
  find "$root" -depth -type d -exec rmdir {} + 2>/dev/null
done

if [ -e /usr/local/bin/kubelet ] || [ -e /etc/kubernetes ]; then changed 'files of the cluster'; fi
rm -rf /etc/kubernetes /var/lib/kubelet /var/lib/etcd /var/lib/cni /etc/cni /opt/cni /var/lib/containerd /opt/containerd \
  /run/containerd /etc/containerd /run/flannel /run/kubernetes /var/log/pods /var/log/containers /usr/libexec/kubernetes \
  /var/lib/matryoshka /run/xtables.lock /var/run/kubernetes
rm -f /usr/local/bin/kubelet /usr/local/bin/kubeadm /usr/local/bin/kubectl /usr/local/bin/runc /usr/local/bin/ctr \
  /usr/local/bin/containerd /usr/local/bin/containerd-* \
  /etc/systemd/system/kubelet.service /etc/systemd/system/containerd.service \
  /etc/modules-load.d/matryoshka.conf /etc/sysctl.d/99-matryoshka.conf
rm -rf /etc/systemd/system/kubelet.service.d
rmdir /usr/libexec 2>/dev/null
systemctl daemon-reload
systemctl reset-failed kubelet containerd 2>/dev/null

if grep -q '# matryoshka ' /etc/hosts; then
  kept=$(grep -v '# matryoshka ' /etc/hosts; echo .)
  printf '%s' "${kept%.}" > /etc/hosts; changed /etc/hosts
fi
if [ -e /etc/matryoshka/sysctl.before ]; then
  while IFS= read -r setting; do sysctl -q -w "$setting" 2>/dev/null; done < /etc/matryoshka/sysctl.before
fi
rm -rf /etc/matryoshka/installed /etc/matryoshka/joined /etc/matryoshka/sysctl.before /etc/matryoshka/nft.before /etc/matryoshka/reset-for

if awk '{print $2}' /proc/mounts | grep -qE "$ours"; then
  echo "mounts remain: $(awk '{print $2}' /proc/mounts | grep -E "$ours" | tr '\n' ' ')" >&2; exit 1
fi
if [ -n "$RECLAIM" ]; then
  echo "$CLUSTER_ID" > /etc/matryoshka/reset-for
  exit 0
fi
# Last, and only now: whoever finds the host released may rely on it.
# shellcheck disable=SC2086
/usr/local/sbin/matryoshka-fence release $RUN || exit
rm -f /usr/local/sbin/matryoshka-fence
rm -rf /run/matryoshka
changed released
