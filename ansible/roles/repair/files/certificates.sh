# Certificates and kubeconfigs of this control plane that were changed or lost are issued again, with new keys, by the
# authority that is here.
list=$(base64 -d <<< "$DIFFERS")
config=$state/repair.yaml old=$state/repair.old
issue() { # PHASE FILE…
  local phase=$1 file; shift
  rm -rf "$old"; mkdir -p "$old"
  # kubeadm makes what is not there, and leaves alone what is.
  for file; do [ ! -e "$file" ] && [ ! -L "$file" ] || mv -T "$file" "$old/${file##*/}"; done
  printf '%s\n' "$KUBEADM_CONFIG" > "$config"
  # shellcheck disable=SC2086
  out=$(kubeadm init phase $phase --config "$config" 2>&1 < /dev/null) || {
    for file; do [ ! -e "$old/${file##*/}" ] || mv -fT "$old/${file##*/}" "$file"; done
    rm -rf "$old" "$config"
    fail "kubeadm init phase $phase: $(tail -3 <<< "$out")"
  }
  rm -rf "$old" "$config"
  changed "issued again: $phase"
}
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
