# A member leaves etcd before this. Its data is deleted with it.
unmake; stayed=$?
rm -f "$installed/etcd"
[ -n "$R" ] || systemctl daemon-reload
exit $stayed
