# Decides which parts of etcd may start or restart, and which wait for the next repair.
later() { write_file "$pending.why" 600 "$1; ${2:-mend or replace that host, and ask again}"$'\n'; return 1; } # WHY [WHAT-TO-DO]
listed_at() { # ADDRESS [OPTION…] of curl
  local pki=$R$kubernetes/pki/etcd at=$1; shift
  [ -n "$IS_MASTER" ] || pki=$R/etc/matryoshka/etcd
  curl -sf --http1.1 -m 5 --noproxy '*' --cert "$pki/peer.crt" --key "$pki/peer.key" --cacert "$pki/ca.crt" "$@" "https://$(in_url "$at"):2380/members"
}
# etcd_id_at ADDRESS: prints the id of the etcd to which the member there belongs. Fails if it does not answer.
etcd_id_at() { listed_at "$1" -o /dev/null -D - | tr -d '\r' | sed -n 's/^x-etcd-cluster-id: *//Ip' | grep .; }
# A member starts only if members on other hosts list it as a started one: at least one must answer, and each that answers
# must list it. A list by the peers' port needs no quorum. That port agrees to HTTP/2, but then speaks HTTP/1.
etcd_is_known() {
  local address answer known=
  for address in $ETCD_PEERS; do
    answer=$(listed_at "$address") || continue
    grep -o '{[^{}]*}' <<< "$answer" | grep -F "\"https://$(in_url "$IP"):2380\"" | grep '"name":"[^"]' | grep -qv '"isLearner":true' ||
      { later "etcd of this host is not started: the member at $address does not list it" 'replace this host'; return; }
    known=yes
  done
  [ -z "$ETCD_PEERS" ] || [ -n "$known" ] ||
    later 'etcd of this host is not started: no member on another host answers' 'start one of them by hand, and ask again'
}
# A running member ends only while all others are healthy. A member that is down takes no further vote away. A single member
# may be what does not answer, and no other member needs it.
etcd_carries_on() {
  local all out ETCD_ENDPOINTS= address
  [ -n "$ETCD_PEERS" ] || return 0
  # The other members answer, because this member's own answers may be what is broken.
  for address in $ETCD_PEERS; do ETCD_ENDPOINTS=$ETCD_ENDPOINTS${ETCD_ENDPOINTS:+,}$(at "$address"); done
  all=$(members 2>&1) || later "etcd of this host is not restarted: its members cannot be listed: $(tail -1 <<< "$all")" || return
  [ "$(grep -c . <<< "$all")" != 1 ] || return 0
  out=$(check_etcd "$IP" '' 2>&1) || later "etcd of this host is not restarted: ${out%; nothing was changed}"
}
# Whether the external member on this host answers requests that need no quorum.
member_serves() {
  local try
  systemctl is-active -q matryoshka-etcd || return 1
  for try in 1 2 3; do listed_at "$IP" > /dev/null && return; sleep 1; done
  return 1
}
# A member that served before and no longer answers ends the run. If it did not serve before, the repair continues with the
# rest.
not_back() { # WHAT
  local said; said="$1: $(journalctl -u matryoshka-etcd -n 3 --no-pager -o cat | tr '\n' ' ')"
  [ -z "$serves" ] || fail "$said"
  later "$said" 'replace this host, or mend it and ask again'
}
# Starts an external member, a unit. One that does not serve can restart at any time; one that serves needs the others.
start_etcd() {
  local unit=matryoshka-etcd does=restart try serves=
  etcd_has_data || { note "start $unit"; later 'there is no data of etcd in /var/lib/etcd' 'replace the host'; return; }
  if member_serves; then
    serves=yes
    done_with "start $unit"
    if noted "unit $unit"; then etcd_is_known && etcd_carries_on || return; else does=; fi
  else
    # A user may have started it already. Then it need not restart.
    if systemctl is-active -q $unit; then note "unit $unit"; else done_with "unit $unit"; note "start $unit"; fi
    etcd_is_known || return
  fi
  systemctl is-enabled -q $unit 2>/dev/null || { systemctl enable -q $unit 2>/dev/null && changed "$unit.service is enabled"; }
  [ -n "$does" ] || return 0
  systemctl reset-failed $unit 2>/dev/null
  systemctl $does $unit || { not_back "$unit does not start"; return; }
  # A member that was down need not be healthy yet: if a quorum is missing, the next member completes it.
  for try in $(seq 120); do if [ -n "$serves" ]; then answers "$IP"; else listed_at "$IP" > /dev/null; fi && break; sleep 0.5; done
  [ "$try" != 120 ] || { not_back 'the member of etcd on this host does not answer'; return; }
  done_with "unit $unit"; done_with "start $unit"; changed "$unit.service: $does"
}
