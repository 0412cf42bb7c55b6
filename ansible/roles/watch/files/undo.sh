# First of all: what is undone from here on is no drift.
unmake; stayed=$?
rm -rf "$R"/etc/matryoshka/seal{,.new,.before,.before.new} "$R/etc/matryoshka/as-made"
exit $stayed
