# Replaces the member of etcd on this host by a new one, which gets its data from the others. A member without its data can
# never become that member again (etcd.io, Runtime reconfiguration design).
umask 077
data=$R/var/lib/etcd aside=$R/var/lib/etcd/.before-repair
if [ -n "$ETCD_HERE" ]; then described=$kubernetes/manifests/etcd.yaml; else described=$etcd_unit; fi
# take_up and the baseline know this name of a manifest that is away.
new=$R$kubernetes/.etcd.matryoshka
copy=$(copy_of "$described") || copy=$R$described
[ -s "$copy" ] || copy=$new
[ -s "$copy" ] || fail "there is no copy of $described; replace this host"
# A container that starts and ends cannot be asked, so this host gets etcd's own program.
[ -x "$work/etcd/usr/local/bin/etcdctl" ] || unpack etcd "$ETCD_IMAGE"
# This refuses while another member does not answer: with this one removed, the others are all that there is.
check_etcd "$IP" "$IP"

said=$(mkdir -p "$aside" 2>&1) || unfinished "$aside" "$said"
if [ -n "$ETCD_HERE" ]; then
  if [ "$copy" != "$new" ]; then said=$({ cp "$copy" "$new" && cmp "$copy" "$new" && sync "$new"; } 2>&1) || unfinished "$described" "$said" "$new"; fi
  rm -f "$R$described"
  held() { [ -n "$(container)$(sandbox)" ]; }
  for try in $(seq 240); do held || break; sleep 0.5; done
  ! held || fail 'etcd on this host does not end'
else systemctl stop matryoshka-etcd; fi
# Whatever stands there may be somebody's only copy, so it stays beside the new data.
if [ -e "$data/member" ] && [ ! -e "$aside/$SEQUENCE" ]; then
  said=$({ mkdir -p "$aside/$SEQUENCE" && mv -T "$data/member" "$aside/$SEQUENCE/member"; } 2>&1) || unfinished "$aside/$SEQUENCE" "$said"
  changed "former data of etcd is set aside in ${aside#"$R"}/$SEQUENCE"
fi
said=$({ rm -rf --one-file-system "$data/member" && mkdir -p "$data" && chmod 700 "$data"; } 2>&1) || unfinished "$data" "$said"
enter "$data"
if [ -n "$ETCD_HERE" ]; then
  text=$(sed -e '/^ *- --initial-cluster-state=/d' -e "s#^\( *\)- --initial-cluster=.*#\1- --initial-cluster=$initial\n\1- --initial-cluster-state=existing#" "$new") && [ -n "$text" ] || fail "$new cannot be read"
  write_file "$new" 600 "$text"$'\n' || exit 1
  said=$({ mv -fT "$new" "$R$described" && sync -f "$R$kubernetes"; } 2>&1) || unfinished "$described" "$said"
else
  text=$(sed "s#--initial-cluster=[^ ]* --initial-cluster-state=[^ ]*#--initial-cluster=$initial --initial-cluster-state=existing#" "$copy") && [ -n "$text" ] || fail "$copy cannot be read"
  write_file "$R$described" 644 "$text"$'\n' || exit 1
  systemctl daemon-reload
  systemctl restart matryoshka-etcd || fail "etcd does not start: $(journalctl -u matryoshka-etcd -n 5 --no-pager -o cat)"
fi
promote
forget_programs
find "$aside" -mindepth 1 -maxdepth 1 ! -name "$SEQUENCE" -exec rm -rf --one-file-system {} + 2> /dev/null
changed "the member of etcd on this host is a new one: $LOST_DATA"
# Its API server has ended without etcd, and the kubelet waits longer after each start.
[ -z "$ETCD_HERE" ] || { systemctl restart kubelet; for try in $(seq 360); do healthy && break; sleep 0.5; done; healthy || fail 'the API server of this control plane does not become ready'; }
