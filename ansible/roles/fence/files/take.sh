# Takes the host for this run. The new fence replaces the old one only after it is admitted. Until then it runs from where it
# was copied, so a host of another owner keeps its files.
fence=/usr/local/sbin/matryoshka-fence
# A machine that joined this cluster as another host is refused before it is taken.
joined_id=
[ ! -s "$R/etc/matryoshka/joined" ] || read -r joined_id joined_name joined_ip < "$R/etc/matryoshka/joined"
if [ "$joined_id" = "${RUN%% *}" ] && [ -n "$joined_ip" ] && [ "$joined_name $joined_ip" != "$NAME $IP" ]; then
  fail "HostConflict: /etc/matryoshka/joined says that this machine is node $joined_name at $joined_ip of this cluster; the operation takes it for node $NAME at $IP. Name it as it joined, or take it out first"
fi
new=$(mktemp /usr/local/sbin/.matryoshka-fence.XXXXXX) || exit 1
trap 'rm -f "$new"' EXIT
said=$({ printf '%s\n' "$FENCE" | tee "$new" > /dev/null && [ "$(cat "$new")" = "$FENCE" ] && chmod 755 "$new" && sync "$new"; } 2>&1) ||
  { unwritten "$fence" "${said:-it reads other than it was written}"; exit 1; }
# shellcheck disable=SC2086
"$new" take $RUN $OPTIONS; code=$?
[ "$code" = 0 ] || exit "$code"
{ [ -x "$fence" ] && cmp -s "$new" "$fence"; } || { mv -fT "$new" "$fence" && sync "${fence%/*}"; } || exit 1
[ ! -e /etc/matryoshka/joined ] || [ ! -s /etc/kubernetes/admin.conf ] || result serves "$(joined_cluster)"
# Reports where a member of this cluster's etcd runs: beside a control plane, or as a separate unit.
if [ "$(made_by)" = "${RUN%% *}" ]; then
  [ ! -e /etc/kubernetes/manifests/etcd.yaml ] || result etcd pod
  [ ! -e /etc/systemd/system/matryoshka-etcd.service ] || result etcd unit
fi
did taken
