# Keeps the former files of a host until all components work with the new settings. A failure puts the files back. So does the
# next attempt after one that was cut short. Copies of the new files show whether another operation has changed a file since.
# Such a file stays.
former=$work/reconfigure made=$work/reconfigure.made
config=/var/lib/kubelet/config.yaml
kubernetes=/etc/kubernetes
components='kube-apiserver kube-controller-manager kube-scheduler'
# Files by their paths; one that was not there is removed again.
former_files() {
  local pod
  echo "$config"
  [ -e "$R$kubernetes/admin.conf" ] || return 0
  for pod in $components; do echo "$kubernetes/manifests/$pod.yaml"; done
  printf "$kubernetes/pki/%s\n" apiserver.crt apiserver.key matryoshka/audit-policy.yaml matryoshka/made-with matryoshka/patches
}
keep_former() {
  local file said
  [ ! -e "$former" ] || return 0
  rm -rf "$former.new"
  mkdir -p "$former.new" || exit 1
  rm -rf "$made"
  while read -r file; do
    [ -e "$R$file" ] || continue
    said=$({ mkdir -p "$former.new${file%/*}" && cp -aT "$R$file" "$former.new$file"; } 2>&1) || unfinished "$former$file" "$said" "$former.new"
  done < <(former_files)
  said=$({ sync -f "$former.new" && mv -T "$former.new" "$former" && sync -f "$work"; } 2>&1) || unfinished "$former" "$said" "$former.new"
}
drop_former() { rm -rf "$former.done"; [ ! -e "$former" ] || { mv -T "$former" "$former.done" && rm -rf "$former.done" "$made"; }; }
# keep_made PATH [SOURCE]: notes what is about to be put there, or is there.
keep_made() {
  local said
  said=$({ mkdir -p "$made${1%/*}" && rm -rf "$made$1" && cp -aT "${2:-$R$1}" "$made$1" && sync -f "$made"; } 2>&1) || unfinished "$made$1" "$said"
}
is_made_here() { [ ! -e "$R$1" ] || diff -rq "$R$1" "$made$1" > /dev/null 2>&1; } # PATH
# put_former FILE…: replaces files by what they were, each by a rename.
put_former() {
  local file said new
  for file; do
    is_made_here "$file" || continue
    new=$R${file%/*}/.${file##*/}.former
    if [ ! -e "$former$file" ]; then said=$(rm -rf "$R$file" 2>&1) || unfinished "$file" "$said"; continue; fi
    said=$({ rm -rf "$new" && cp -aT "$former$file" "$new" && diff -rq "$former$file" "$new" && sync -f "$new" &&
      { [ ! -d "$R$file" ] || rm -rf "$R$file"; } && mv -fT "$new" "$R$file" && sync -f "$R${file%/*}"; } 2>&1) || unfinished "$file" "$said" "$new"
  done
}
is_former() { diff -rq "$R$1" "$former$1" > /dev/null 2>&1 || { [ ! -e "$R$1" ] && [ ! -e "$former$1" ]; }; } # FILE

# kubelet_lives: whether the kubelet serves, and is the same process ten seconds later. It serves before it has started all of
# its managers, and ends if one of them does not start.
kubelet_lives() {
  local try pid=none now=0
  for try in $(seq 120); do
    if curl -s -m 2 http://127.0.0.1:10248/healthz | grep -qx ok && [ "$(systemctl show -P MainPID kubelet)" = "$pid" ]; then
      now=$((now + 1))
      [ "$now" -lt 20 ] || return 0
    else
      pid=$(systemctl show -P MainPID kubelet) now=0
    fi
    sleep 0.5
  done
  return 1
}
restart_kubelet() { systemctl restart kubelet; changed 'kubelet.service: restart'; }
started_with() { # FILE: whether the kubelet has started since the file was written
  local since; since=$(systemctl show -P ActiveEnterTimestamp kubelet)
  systemctl is-active -q kubelet && [ -n "$since" ] && [ "$(date -r "$1" +%s)" -lt "$(date -d "$since" +%s)" ]
}
# take_kubelet_config: brings the kubelet's configuration from the cluster, and restarts the kubelet if it needs that. If the
# kubelet does not start, `why` says why.
take_kubelet_config() {
  local out code
  # Until it is noted what kubeadm has written, whatever is there is kubeadm's.
  mkdir -p "$made" && : > "$made/writes-kubelet-config" || exit 1
  out=$(KUBEADM_UPGRADE_DRYRUN_DIR=$state kubeadm upgrade node phase kubelet-config 2>&1); code=$?
  [ $code = 0 ] || { why="kubeadm upgrade node phase kubelet-config: $(tail -3 <<< "$out")"; return 1; }
  # kubeadm writes it each time.
  keep_made "$config"
  rm -f "$made/writes-kubelet-config"
  ! is_former "$config" || put_former "$config"
  ! started_with "$R$config" || return 0
  restart_kubelet
  kubelet_lives || { why="the kubelet does not start: $(journalctl -u kubelet -n 40 --no-pager -o cat | grep -m 1 -i 'err=' | cut -c 1-300)"; return 1; }
}
# undo_kubelet: puts the kubelet's former configuration back.
undo_kubelet() {
  # A file that kubeadm was writing may be half of one.
  [ ! -e "$made/writes-kubelet-config" ] || { keep_made "$config" && rm -f "$made/writes-kubelet-config"; }
  ! is_former "$config" && is_made_here "$config" || return 0
  put_former "$config"
  restart_kubelet
  kubelet_lives
}
