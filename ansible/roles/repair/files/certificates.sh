# Issues changed or lost certificates and kubeconfigs of this control plane again, with new keys, by the CA on this host.
take_up || exit 1
list=$(base64 -d <<< "$DIFFERS")
config=$state/repair.yaml
issue() { # PHASE FILE…
  local phase=$1 file; shift
  begin_exchange "$@"
  # kubeadm issues missing files and leaves existing ones alone.
  write_file "$config" 600 "${KUBEADM_CONFIG//CERTIFICATES_DIR/$kubernetes/pki}"$'\n' || exit 1
  for file; do rm -f "$R$file"; done
  # shellcheck disable=SC2086
  out=$(kubeadm init phase $phase --config "$config" 2>&1 < /dev/null) && all_there "$@" || {
    take_up; rm -f "$config"
    fail "kubeadm init phase $phase: $(tail -3 <<< "$out")"
  }
  sync -f "$R$kubernetes"; drop_exchanged; rm -f "$config"
  changed "issued again: $phase"
}
# A full disk leaves empty files.
all_there() { local file; for file; do [ -s "$R$file" ] || return 1; done; }
done=' '
while IFS=$'\t' read -r kind thing how; do
  [ "$kind" = file ] && [ "$(remedy "$kind" "$thing" "$how" "$list")" = issue ] || continue
  base=${thing%.*}
  case $done in *" $base "*) continue ;; esac
  done="$done$base "
  case $thing in
    *.conf) issue "kubeconfig ${base##*/}" "$thing" ;;
    */pki/etcd/*) issue "certs etcd-${base##*/}" "$base.crt" "$base.key" ;;
    *) issue "certs ${base##*/}" "$base.crt" "$base.key" ;;
  esac
done <<< "$list"
