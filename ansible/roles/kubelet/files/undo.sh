# Ends the kubelet first, so that it starts nothing again. Then it ends the pods: only processes of pods and of our
# containerd.
if is_made unit kubelet.service; then
  disable_unit kubelet.service
  ! is_made unit containerd.service || systemctl stop containerd 2>/dev/null
  ours='^[0-9]*:[^:]*:(.*/)?(kubepods[^/]*(/|$)|system\.slice/containerd\.service(/|$))'
  processes() { grep -lE "$ours" /proc/[0-9]*/cgroup 2>/dev/null | cut -d/ -f3; }
  for try in $(seq 100); do
    left=$(processes)
    [ -n "$left" ] || break
    # shellcheck disable=SC2086
    kill -KILL $left 2>/dev/null
    sleep 0.1
  done
  [ -z "$(processes)" ] || abort "processes of pods do not end: $(processes | paste -sd' ')"
  # Runtime and plugins have recorded the network namespaces of our pods.
  for netns in $(cat /run/containerd/io.containerd.runtime.v2.task/k8s.io/*/config.json /var/lib/cni/results/* 2>/dev/null |
      grep -oE '/run/netns/cni-[0-9a-f-]+' | sort -u); do
    umount -l "$netns" 2>/dev/null; rm -f "$netns"
  done
  rmdir /run/netns 2>/dev/null
  release_mounts '^/var/lib/kubelet/(pods|plugins|plugins_registry)/'
  # With the systemd cgroup driver each pod is a slice below this one. With the other driver the slice does not exist.
  systemctl stop kubepods.slice 2>/dev/null
  find /sys/fs/cgroup -type d -name 'kubepods*' -prune 2>/dev/null | while read -r root; do
    find "$root" -depth -type d -exec rmdir {} + 2>/dev/null
  done
  changed 'kubelet and pods ended'
fi
unmake
