# The role `host` removes the unpacked tree, which is below /var/lib/matryoshka.
unmake
rm -f "$installed/balancer" "$installed/balancer.running"
[ -n "$R" ] || systemctl daemon-reload
