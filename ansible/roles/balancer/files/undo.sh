# The tree that it runs from lies below /var/lib/matryoshka, which goes with the host's own things.
unmake
rm -f "$installed/balancer" "$installed/balancer.running"
[ -n "$R" ] || systemctl daemon-reload
