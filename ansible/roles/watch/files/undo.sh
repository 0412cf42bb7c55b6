# First of all: what is undone from here on is no drift.
unmake; stayed=$?
rm -f "$R"/etc/matryoshka/seal{,.new,.before,.before.new}
rm -rf "$R/etc/matryoshka/kept"
exit $stayed
