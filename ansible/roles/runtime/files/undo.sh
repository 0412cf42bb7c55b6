if is_made unit containerd.service; then
  systemctl disable -q --now containerd 2>/dev/null
  release_mounts '^/run/containerd/io\.containerd\.|^/var/lib/containerd/tmpmounts/'
fi
unmake; stayed=$?
[ -n "$R" ] || systemctl daemon-reload
exit $stayed
