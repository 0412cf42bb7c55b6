# Decides which parts of etcd and its endpoint may be restored: only those that start with its old data. Without data, the
# manifest of a first control plane starts an empty etcd. Then kubelets end their pods, because its API server lists none.
etcd_has_data() {
  compgen -G "$R/var/lib/etcd/member/wal/*.wal" > /dev/null && [ -s "$R/var/lib/etcd/member/snap/db" ]
}
# Prints what a manifest says about the places of its data, and about names there.
places() { grep -E '(data|wal)-dir|[pP]ath:|name:' "$1" 2>/dev/null; }
etcd_unit=/etc/systemd/system/matryoshka-etcd.service
# Whether an external member may have other data than /var/lib/etcd, with which it would start. A running member shows its
# open files. For a stopped one, a user's lines may only set limits of resources and the time of its start.
may_have_other_data() { # LINE…: what somebody has written into the unit, or beside it
  local pid
  pid=$(systemctl show -p MainPID --value matryoshka-etcd.service 2>/dev/null | grep -xE '[1-9][0-9]*')
  if [ -n "$pid" ]; then
    ! { has_open "$pid" "$R"/var/lib/etcd/member/snap/db && has_open "$pid" "$R"/var/lib/etcd/member/wal/*.wal; }
    return
  fi
  grep -qvE '^[[:space:]]*($|[#;[]|(Nice|CPU|Memory|IO|Limit|Tasks|OOM|Restart|StartLimit|Description|Documentation|After|Before|Wants)[A-Za-z]*=)' <<< "$1"
}
has_open() { # PID FILE…: one of these
  local fd file
  for fd in /proc/"$1"/fd/*; do for file in "${@:2}"; do [ ! "$fd" -ef "$file" ] || return 0; done; done
  return 1
}
without_data() { etcd_has_data || echo 'would begin an empty etcd: there is no data in /var/lib/etcd'; }
servers() { tr ',' '\n' <<< "$1" | sort; }

# obstacle KIND THING HOW: prints why a thing must not be restored, or nothing if it may.
obstacle() {
  local copy other
  case $1:$2 in
    unit:containerd.service | unit:kubelet.service)
      [ ! -e "$R$kubernetes/manifests/etcd.yaml" ] || etcd_has_data || echo 'would begin an empty etcd: there is no data in /var/lib/etcd' ;;
    unit:matryoshka-etcd.service)
      etcd_has_data || { without_data; return; }
      other=$(grep -o 'changed by [^,]*' <<< "$3" | sed 's/^changed by //' | while read -r copy; do cat "$R$copy" || echo unreadable; done 2>/dev/null)
      case $3 in *'runs by'*) other=elsewhere ;; esac
      ! may_have_other_data "$other" || echo 'may have other data than it was made with' ;;
    file:$etcd_unit)
      ! only_mode "$3" && copy=$(copy_of "$2") || return 0
      etcd_has_data || { without_data; return; }
      # A missing unit, or one that a link to /dev/null masks, says nothing about other data.
      [ -f "$R$2" ] || { [ "$(readlink -f "$R$2")" = /dev/null ] || [ ! -L "$R$2" ]; } || { echo 'may have other data than it was made with'; return; }
      other=$([ ! -f "$R$2" ] || diff "$copy" "$R$2" | sed -n 's/^[<>] //p')
      ! may_have_other_data "$other" || echo 'may have other data than it was made with' ;;
    file:/etc/matryoshka/etcd/*.crt)
      etcd_has_data || { without_data; return; }
      ! only_mode "$3" && copy=$(copy_of "$2") && openssl x509 -noout -in "$copy" 2> /dev/null || return 0
      openssl x509 -noout -checkend 0 -in "$copy" > /dev/null || echo 'was made with a certificate that has ended' ;;
    file:/etc/matryoshka/etcd/* | file:/var/lib/matryoshka/etcd/*) without_data ;;
    file:$kubernetes/manifests/etcd.yaml | file:$kubernetes/pki/etcd/server.* | file:$kubernetes/pki/etcd/peer.* | file:$kubernetes/pki/etcd/healthcheck-client.*)
      [ -n "$ETCD_HERE" ] || { echo 'etcd is not beside this control plane'; return; }
      is_static_pod "$2" && ! only_mode "$3" && copy=$(copy_of "$2") || return 0
      etcd_has_data || { echo 'would begin an empty etcd: there is no data in /var/lib/etcd'; return; }
      grep -qE -- '^ *- --data-dir=/var/lib/etcd$' "$copy" && grep -qE '^ *(- )?path: /var/lib/etcd$' "$copy" ||
        { echo 'does not tell where its data was made'; return; }
      if [ -e "$R$2" ] || [ -L "$R$2" ]; then
        [ "$(places "$R$2")" = "$(places "$copy")" ] || echo 'may have other data than it was made with'
      else
        other=$(grep -lE -- '(data|wal)-dir' "$R$kubernetes"/manifests/* 2>/dev/null | head -1)
        [ -z "$other" ] || echo "${other#"$R"} runs an etcd already"
      fi ;;
    file:$kubernetes/manifests/kube-apiserver.yaml)
      ! only_mode "$3" && copy=$(copy_of "$2") || return 0
      other=$(sed -n 's/^ *- --etcd-servers=//p' "$copy")
      [ "$(servers "$other")" = "$(servers "$ETCD_SERVERS")" ] || echo "was made for etcd at $other, not at $ETCD_SERVERS" ;;
  esac
}
