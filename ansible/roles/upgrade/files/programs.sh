# Functions that replace the programs of a host by those of another version.
kubelet_version() { kubelet --version 2> /dev/null | sed 's/.* //'; }
# runs_kubelet VERSION: whether the running kubelet is of this version. A program that was replaced since its start is marked
# as deleted (proc_pid_exe(5)).
runs_kubelet() {
  local pid
  pid=$(systemctl show -P MainPID kubelet) && [ "$(readlink "/proc/$pid/exe")" = /usr/local/bin/kubelet ] &&
    [ "$(kubelet_version)" = "$1" ]
}
# put_program NAME VERSION SHA256: installs a program that `prepare.sh` has brought. A rename replaces one that runs.
put_program() {
  local from=$work/upgrade/$2/$1 to=$R/usr/local/bin/$1 new=$R/usr/local/bin/.$1.matryoshka said
  ! is_installed "$1" "$3" || return 0
  said=$({ cp -pT "$from" "$new" && sync "$new" && mv -fT "$new" "$to" && sync "${to%/*}"; } 2>&1) || unfinished "${to#"$R"}" "$said" "$new"
  mark "$1" "$3"
  changed "$1 $2"
}
restart_kubelet() {
  systemctl restart kubelet || fail "kubelet does not start: $(journalctl -u kubelet -n 5 --no-pager -o cat)"
  changed 'kubelet.service: restart'
}
# has_static_pods VERSION: whether the components of this control plane, if it is one, have this version's manifests.
has_static_pods() {
  local pod file
  for pod in kube-apiserver kube-controller-manager kube-scheduler; do
    file=$R/etc/kubernetes/manifests/$pod.yaml
    if [ ! -e "$file" ]; then [ ! -e "$R/etc/kubernetes/admin.conf" ] || return 1; continue; fi
    [[ $(sed -n 's/^ *image: *//p' "$file") == *":$1" ]] || return 1
  done
}
# keep_files: keeps copies of the files that `kubeadm upgrade` changes, for a way back. As long as nothing is upgraded, each
# attempt takes them anew.
keep_files() {
  local kept=$work/upgrade/$FROM/files said
  [ "$(kubelet_version)" = "$FROM" ] && has_static_pods "$FROM" && [ ! -e "$work/upgrade/$FROM/changing" ] || return 0
  # find also copies nothing from an empty folder.
  said=$({ rm -rf "$kept.new" && mkdir -p "$kept.new/manifests" &&
    find "$R/var/lib/kubelet" -maxdepth 1 \( -name config.yaml -o -name kubeadm-flags.env \) -exec cp -p -t "$kept.new" {} + &&
    find "$R/etc/kubernetes/manifests" -maxdepth 1 -type f -exec cp -p -t "$kept.new/manifests" {} + &&
    sync -f "$kept.new" && rm -rf "$kept" && mv -T "$kept.new" "$kept"; } 2>&1) || unfinished "$kept" "$said" "$kept.new"
}
# kubeadm has done all of its part on this host. Some of its phases come after the manifests.
upgraded=$work/upgrade/$KUBE_VERSION/upgraded
# kubeadm_upgrade ARGUMENT…: runs `kubeadm upgrade` with its configuration. Protected: it writes the kubelet's configuration and
# objects of the cluster.
kubeadm_upgrade() {
  local config=$state/upgrade.yaml code out
  umask 077
  mkdir -p "$state" || exit 1
  write_file "$config" 600 "$UPGRADE_CONFIG"$'\n' || exit 1
  "$R/usr/local/sbin/matryoshka-fence" protect upgrade kubeadm upgrade "$@" --config "$config" > "$state/upgrade.out" 2>&1
  code=$?
  rm -f "$config"
  if [ "$code" != 0 ]; then
    out=$(grep -v -e addrConn -e '^{"level":' "$state/upgrade.out" | tail -5)
    # The output could not be stored if the disk is full.
    fail "kubeadm upgrade $1: ${out:-it ended with code $code; see that there is room in /run, /etc and /var/lib}"
  fi
  [ "${2-}" = phase ] || changed "kubeadm upgrade $1"
}
