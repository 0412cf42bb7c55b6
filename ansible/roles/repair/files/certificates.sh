# Issues changed or lost certificates and kubeconfigs of this control plane again, with new keys, by the CA on this host.
take_up || exit 1
list=$(base64 -d <<< "$DIFFERS")
config=$state/repair.yaml
issue() { # PHASE FILE…
  local phase=$1 file said; shift
  for file; do no_folder "$file"; done
  for file; do keep_replaced "$file"; done
  rm -rf "$exchanging.new"
  for file; do
    mkdir -p "$exchanging.new${file%/*}" || exit 1
    [ ! -e "$R$file" ] && [ ! -L "$R$file" ] || said=$(cp -aT "$R$file" "$exchanging.new$file" 2>&1) || unfinished "$exchanging$file" "$said" "$exchanging.new"
  done
  write_file "$exchanging.new/list" 600 "$(printf '%s\n' "$@")"$'\n' || exit 1
  # The copies are synced before anything is deleted: the host may die at any moment, and the next run restores a complete
  # copy.
  said=$(sync -f "$exchanging.new" 2>&1) || unfinished "$exchanging" "$said" "$exchanging.new"
  mv -T "$exchanging.new" "$exchanging" || fail "$exchanging is there already; ask again"
  sync "${exchanging%/*}"
  # kubeadm issues missing files and leaves existing ones alone.
  write_file "$config" 600 "$KUBEADM_CONFIG"$'\n' || exit 1
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
