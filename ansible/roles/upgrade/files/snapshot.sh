# Saves and verifies a snapshot of etcd on this host, which has a member, before anything changes.
umask 077
snapshot=$work/upgrade/$FROM.db
# Until the first control plane is upgraded, each attempt takes a new one: the former may be of an earlier upgrade.
if [ ! -s "$snapshot" ] || [ -z "$APPLIED" ]; then
  mkdir -p "$work/upgrade" || exit 1
  rm -f "$snapshot.new"
  # The programs of an external member stay those that run.
  [ -x "$work/etcd/usr/local/bin/etcdutl" ] || unpack etcd "$ETCD_IMAGE" || true
  # etcdctl asks one member for a snapshot.
  for url in ${ETCD_ENDPOINTS//,/ }; do
    out=$(ETCD_SECONDS=600 etcd --endpoints "$url" snapshot save "$snapshot.new") && break
  done
  [ -s "$snapshot.new" ] || { forget_programs; fail "etcd gives no snapshot: $(tail -1 <<< "$out"); nothing was changed"; }
  # The end of the file is its own SHA-256, which this checks (etcdutl snapshot status).
  out=$("$work/etcd/usr/local/bin/etcdutl" snapshot status "$snapshot.new" -w simple 2>&1) ||
    { rm -f "$snapshot.new"; forget_programs; fail "the snapshot of etcd is damaged: $(tail -1 <<< "$out"); nothing was changed"; }
  forget_programs
  said=$({ sync "$snapshot.new" && mv -fT "$snapshot.new" "$snapshot"; } 2>&1) || unfinished "$snapshot" "$said" "$snapshot.new"
  changed "snapshot of etcd in $snapshot: $(tail -1 <<< "$out")"
fi
