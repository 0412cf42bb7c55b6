# put_former VERSION SHA256: puts the kubelet of an earlier version back, with its settings and the manifests of its static pods.
# Nothing is asked of the API server, since it may not answer.
put_former() {
  local kept=$work/upgrade/$1/files file
  rm -rf "$R/etc/kubernetes"/{.upgrade.matryoshka,.put-back.matryoshka-new}
  for file in config.yaml kubeadm-flags.env; do put_file "$kept/$file" "/var/lib/kubelet/$file"; done
  put_program kubelet "$1" "$2"
  for file in "$kept"/manifests/*; do put_file "$file" "/etc/kubernetes/manifests/${file##*/}"; done
  "$R/usr/local/sbin/matryoshka-fence" protect upgrade bash -c "R='$R'; $(declare -f running_of runs await_end end_pods); end_pods; systemctl start kubelet" ||
    fail "kubelet does not start: $(journalctl -u kubelet -n 5 --no-pager -o cat)"
  changed 'kubelet.service: restart'
  rm -f "$work/upgrade/$1/changing"
}
put_file() { # KEPT TARGET
  [ -e "$1" ] && ! cmp -s "$1" "$R$2" || return 0
  local said new=$R/etc/kubernetes/.put-back.matryoshka-new
  # The kubelet reads every file in the folder of manifests, so the new one is written elsewhere.
  case $2 in /etc/kubernetes/*) ;; *) new=$R${2%/*}/.put-back.matryoshka-new ;; esac
  said=$({ cp -p "$1" "$new" && sync "$new" && mv -fT "$new" "$R$2"; } 2>&1) || unfinished "$2" "$said" "$new"
  changed "$2"
}
serves() { healthy && curl -sk -m 3 https://127.0.0.1:6443/version | grep -qF "\"$1\""; } # VERSION
