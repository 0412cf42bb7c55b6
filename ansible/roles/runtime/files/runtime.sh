# Installs containerd with its configuration and unit, runc, and the images of the artifacts. ONLY_IMAGES: not the runtime,
# which must not restart now.
file_of() { echo "image-${1//[\/:]/_}"; }
bring() { # IMAGE SHA256: what was fetched of it goes into containerd
  local file got
  file=$(file_of "$1")
  # When a disk fills, the kubelet removes images that no container uses. A pinned image stays.
  # --local: ctr gives containerd the layers. Otherwise it gives the archive, which costs both twice the time.
  got=$(ctr -n k8s.io images import --local --label io.cri-containerd.pinned=pinned "$work/$file" 2>&1) || fail "cannot import $1: $got"
  if ! ctr -n k8s.io images ls -q "name==$1" | grep -qxF "$1"; then
    # The archive's own tag may name the architecture or another registry.
    got=$(tar -xOf "$work/$file" --wildcards '*manifest.json' | sed -n 's/.*"RepoTags":\["\([^"]*\)".*/\1/p')
    ctr -n k8s.io images tag --force "$got" "$1" > /dev/null || fail "cannot tag $got as $1"
    # The kubelet uses only this name, also when it removes unused images, so containers must use it too.
    ctr -n k8s.io images label "$1" io.cri-containerd.pinned=pinned > /dev/null && ctr -n k8s.io images rm "$got" > /dev/null || fail "cannot pin $1"
  fi
  rm -f "$work/$file"; mark "$file" "$2"; changed "$1"
}

# containerd also creates the folder of the pod network's configuration on hosts without a pod network.
own tree /var/lib/containerd /run/containerd /etc/containerd /opt/containerd /usr/local/bin/.containerd.matryoshka dir /etc/cni /etc/cni/net.d unit containerd.service \
  file /etc/systemd/system/containerd.service /etc/containerd/config.toml /usr/local/bin/runc /usr/local/bin/.runc.matryoshka \
  /usr/local/bin/containerd /usr/local/bin/containerd-shim-runc-v2 /usr/local/bin/ctr
# Downloads begin now. The import waits for containerd.
declare -A fetching
# Downloads run in separate process groups, because a script that fails must not wait for them.
trap 'for pid in "${fetching[@]}"; do kill -- "-$pid" 2>/dev/null; done' EXIT
set -m
while read -r name path sum; do
  [ -n "$name" ] && ! is_installed "$(file_of "$name")" "$sum" || continue
  ( fetch "$(file_of "$name")" "$path" "$sum" ) & fetching[$name]=$!
done <<< "$IMAGES"
set +m
if [ -z "${ONLY_IMAGES-}" ]; then
put /etc/systemd/system/containerd.service 644 '[Unit]
Description=containerd container runtime
Documentation=https://containerd.io
After=network.target local-fs.target

[Service]
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target'
put /etc/containerd/config.toml 644 "$CONTAINERD_CONFIG"

binary runc "$RUNC_PATH" "$RUNC_SHA256" /usr/local/bin/runc
archive containerd "$CONTAINERD_PATH" "$CONTAINERD_SHA256" /usr/local/bin bin/containerd bin/containerd-shim-runc-v2 bin/ctr
proxied=/etc/systemd/system/containerd.service.d/matryoshka-proxy.conf
[ -e $proxied ] || proxied=
# shellcheck disable=SC2086
now=$(cat "$installed/containerd" /etc/containerd/config.toml /etc/systemd/system/containerd.service $proxied | sha256sum)
if ! is_installed containerd.running "$now" || ! systemctl is-active -q containerd; then
  enable_unit containerd.service; systemctl restart containerd || fail "containerd does not start: $(journalctl -u containerd -n 5 --no-pager -o cat)"
  mark containerd.running "$now"; changed containerd.service
fi
fi
present=$(ctr -n k8s.io images ls -q) || fail 'containerd does not answer'
failed=0 pids=
while read -r name path sum; do
  [ -n "$name" ] || continue
  if [ -n "${fetching[$name]-}" ]; then
    wait "${fetching[$name]}" || { failed=1; continue; }
    # An image whose files run is unpacked while other images still arrive.
    ( bring "$name" "$sum" && { [ "$name" != "${BALANCER_IMAGE-}" ] || unpack balancer "$name" || true; } ) & pids="$pids $!"
  elif ! grep -qxF "$name" <<< "$present"; then
    # The image was here, and a user has removed it.
    ( fetch "$(file_of "$name")" "$path" "$sum" && bring "$name" "$sum" ) & pids="$pids $!"
  fi
done <<< "$IMAGES"
for pid in $pids; do wait "$pid" || failed=1; done
trap - EXIT
exit $failed
