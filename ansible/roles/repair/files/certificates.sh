# Certificates and kubeconfigs of this control plane that were changed or lost are issued again, with new keys, by the
# authority that is here.
list=$(base64 -d <<< "$DIFFERS")
config=$state/repair.yaml
issue() { # PHASE FILE…
  local phase=$1 file; shift
  for file; do no_folder "$file"; done
  for file; do keep_replaced "$file"; done
  rm -rf "$exchanging.new"
  for file; do
    mkdir -p "$exchanging.new${file%/*}"; echo "$file" >> "$exchanging.new/list"
    [ ! -e "$R$file" ] && [ ! -L "$R$file" ] || cp -aT "$R$file" "$exchanging.new$file" || fail "$file cannot be kept"
  done
  # On the disk before anything goes: the host may die at any moment, and what is there whole is taken up then.
  sync -f "$exchanging.new"; mv -T "$exchanging.new" "$exchanging" || fail "$exchanging is there already; ask again"
  sync "${exchanging%/*}"
  # kubeadm makes what is not there, and leaves alone what is.
  for file; do rm -f "$R$file"; done
  printf '%s\n' "$KUBEADM_CONFIG" > "$config"
  # shellcheck disable=SC2086
  out=$(kubeadm init phase $phase --config "$config" 2>&1 < /dev/null) || {
    take_up; rm -f "$config"
    fail "kubeadm init phase $phase: $(tail -3 <<< "$out")"
  }
  sync -f "$R$kubernetes"; drop_exchanged; rm -f "$config"
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
