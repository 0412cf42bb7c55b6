# A member that leaves was taken out of etcd before; its data goes with it.
unmake; stayed=$?
rm -f "$installed/etcd"
[ -n "$R" ] || systemctl daemon-reload
exit $stayed
