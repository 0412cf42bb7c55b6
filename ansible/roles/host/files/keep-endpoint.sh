# Keeps the names of the API servers in /etc/hosts across restarts of the host. cloud-init (manage_etc_hosts) rewrites the
# file at each start, and without the names no kubelet finds its API server. A unit restores them from a file of ours.
[ -n "$ENDPOINT_ADDRESSES" ] || exit 0
own file /etc/matryoshka/endpoint /usr/local/sbin/matryoshka-endpoint /etc/systemd/system/matryoshka-endpoint.service \
  unit matryoshka-endpoint.service
# shellcheck disable=SC2086
put /etc/matryoshka/endpoint 644 "$(printf "%s $ENDPOINT_NAME # matryoshka $CLUSTER_ID\n" $ENDPOINT_ADDRESSES)"
put /usr/local/sbin/matryoshka-endpoint 755 '#!/bin/bash
# Puts the lines of /etc/matryoshka/endpoint back into /etc/hosts, and into its copies in pods on the host'\''s network.
# MATRYOSHKA_ROOT: a directory that stands for a host, in tests.
set -u
# No byte of a line of somebody else'\''s changes.
export LC_ALL=C
R=${MATRYOSHKA_ROOT:-}
lines=$R/etc/matryoshka/endpoint
[ -s "$lines" ] || exit 0
has_them() { [ "$(grep -a '\''# matryoshka '\'' "$1" 2>/dev/null)" = "$(cat "$lines")" ]; } # FILE
with_them() { { grep -av '\''# matryoshka '\'' "$1" 2>/dev/null; cat "$lines"; }; } # FILE

failed=0 hosts=$R/etc/hosts new=$R/etc/.hosts.matryoshka
if ! has_them "$hosts"; then
  if [ -L "$hosts" ] || mountpoint -q "$hosts"; then
    text=$(with_them "$hosts") && printf '\''%s\n'\'' "$text" > "$hosts" || failed=1
  else
    # A disk that is full leaves the file as it is.
    cp -p "$hosts" "$new" 2>/dev/null || install -m 644 /dev/null "$new"
    with_them "$hosts" > "$new" && has_them "$new" && mv -fT "$new" "$hosts" || { rm -f "$new"; failed=1; }
  fi
  [ "$failed" = 0 ] && echo '\''the names of the API servers are in /etc/hosts again'\'' || echo '\''/etc/hosts cannot be written'\'' >&2
fi
# Mounted in containers, so written in place. The kubelet has begun each with this line.
for copy in $(grep -la '\''^# Kubernetes-managed hosts file (host network)'\'' "$R"/var/lib/kubelet/pods/*/etc-hosts 2>/dev/null); do
  has_them "$copy" || { text=$(with_them "$copy") && printf '\''%s\n'\'' "$text" > "$copy" || failed=1; }
done
exit $failed'
put /etc/systemd/system/matryoshka-endpoint.service 644 '[Unit]
Description=Matryoshka: names of the API servers in /etc/hosts
# By each of these cloud-init writes the file, in one version or another.
After=local-fs.target cloud-init-local.service cloud-init.service cloud-init-network.service
Before=kubelet.service matryoshka-balancer.service matryoshka-watch.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/matryoshka-endpoint

[Install]
WantedBy=multi-user.target'
enable_unit matryoshka-endpoint.service
# If the unit runs already, starting it does nothing, so its program also runs now.
systemctl start matryoshka-endpoint.service && "$R/usr/local/sbin/matryoshka-endpoint" > /dev/null || fail 'the names of the API servers cannot be kept in /etc/hosts'
