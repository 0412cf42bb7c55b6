# Upgrades this external etcd member: unpacks the new programs, and restarts the member with them. The leader comes last.
unit=matryoshka-etcd.service programs=$work/etcd/usr/local/bin
is_current() { [ "$(readlink "/proc/$(systemctl show -P MainPID $unit)/exe")" = "$programs/etcd" ]; }
! unpack etcd "$ETCD_IMAGE" || true
if ! is_current; then
  systemctl restart $unit || fail "etcd does not start: $(journalctl -u $unit -n 5 --no-pager -o cat)"
  changed "$unit: restart"
fi
for try in $(seq 120); do answers "$IP" && break; sleep 0.5; done
answers "$IP" || fail "the member on this host does not answer after its upgrade: $(journalctl -u $unit -n 3 --no-pager -o cat)"
version etcd "$("$programs/etcd" --version | sed -n 's/^etcd Version: /v/p')"
did changed
