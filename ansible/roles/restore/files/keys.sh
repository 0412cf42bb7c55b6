# Brings back the keys of the cluster onto the first control plane. The other control planes get them when they join.
umask 077
[ -e "$work/before-restore/$SEQUENCE/complete" ] || fail 'the control plane of this host was not stopped by a restore; ask for the restore again'
mkdir -p "$R/etc/kubernetes/pki" || exit 1
untar_into "$R/etc/kubernetes/pki" "$AUTHORITIES"
# A certificate of then may have expired; it is issued again. A rotation that was unfinished then is not continued.
rm -rf "$R"/etc/kubernetes/pki/{apiserver-etcd-client.crt,apiserver-etcd-client.key,matryoshka/next*}
# Pods on workers have tokens by a key that may be later than the snapshot.
former=$work/before-restore/$SEQUENCE/kubernetes/pki/sa.pub
if [ -s "$former" ]; then
  key() { awk -v wanted="$1" '/^-----BEGIN / { n++ } n == wanted' "$former"; } # NUMBER
  has=$(cat "$R/etc/kubernetes/pki/sa.pub") accepted=$has
  for number in 1 2; do
    case $accepted in *"$(key $number)"*) ;; *) accepted=$accepted$'\n'$(key $number) ;; esac
  done
  [ "$accepted" = "$has" ] || write_file "$R/etc/kubernetes/pki/sa.pub" 600 "$accepted"$'\n' || exit 1
fi
changed 'the keys of the cluster'
