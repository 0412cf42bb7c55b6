# containerd with its configuration and unit, runc, and the images that we bring.
image() { # IMAGE PATH SHA256
  local name=image-${1//[\/:]/_} got
  is_installed "$name" "$3" && grep -qxF "$1" "$work/images" && return
  fetch "$name" "$2" "$3"
  got=$(ctr -n k8s.io images import "$work/$name" 2>&1) || fail "cannot import $1: $got"
  if ! ctr -n k8s.io images ls -q "name==$1" | grep -qxF "$1"; then
    # The archive's own tag may name the architecture or another registry.
    got=$(tar -xOf "$work/$name" --wildcards '*manifest.json' | sed -n 's/.*"RepoTags":\["\([^"]*\)".*/\1/p')
    ctr -n k8s.io images tag --force "$got" "$1" > /dev/null || fail "cannot tag $got as $1"
  fi
  # The kubelet removes images that no container uses when a disk fills; one that is pinned stays.
  ctr -n k8s.io images label "$1" io.cri-containerd.pinned=pinned > /dev/null || fail "cannot pin $1"
  rm -f "$work/$name"; echo "$3" > "$installed/$name"; changed "$1"
}

own tree /var/lib/containerd /run/containerd /etc/containerd /opt/containerd
own unit containerd.service
put /etc/systemd/system/containerd.service 644 <<'U'
[Unit]
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
WantedBy=multi-user.target
U
put /etc/containerd/config.toml 644 <<< "$CONTAINERD_CONFIG"
# An image that somebody has removed comes back from the artifacts; the registry itself is asked next.
for registry in $MIRRORED; do
  put "/etc/containerd/certs.d/$registry/hosts.toml" 644 <<T
[host."$MIRROR"]
  capabilities = ["pull", "resolve"]
T
done

binary runc "$RUNC_PATH" "$RUNC_SHA256" /usr/local/bin/runc
archive containerd "$CONTAINERD_PATH" "$CONTAINERD_SHA256" /usr/local/bin bin/containerd bin/containerd-shim-runc-v2 bin/ctr
now=$(cat "$installed/containerd" /etc/containerd/config.toml /etc/systemd/system/containerd.service | sha256sum)
if ! is_installed containerd.running "$now" || ! systemctl is-active -q containerd; then
  systemctl enable -q containerd 2>/dev/null; systemctl restart containerd || fail "containerd does not start: $(journalctl -u containerd -n 5 --no-pager -o cat)"
  echo "$now" > "$installed/containerd.running"; changed containerd.service
fi
ctr -n k8s.io images ls -q > "$work/images" || fail 'containerd does not answer'
failed=0 pids=
while read -r name path sum; do
  [ -n "$name" ] || continue
  ( image "$name" "$path" "$sum" ) & pids="$pids $!"
done <<< "$IMAGES"
for pid in $pids; do wait "$pid" || failed=1; done
rm -f "$work/images"
exit $failed
