if is_made unit containerd.service; then
  disable_unit containerd.service
  release_mounts '^/run/containerd/io\.containerd\.|^/var/lib/containerd/tmpmounts/'
fi
unmake; stayed=$?
[ -n "$R" ] || systemctl daemon-reload
exit $stayed
