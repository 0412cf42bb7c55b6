# First of all: what is undone from here on is no drift.
unmake; stayed=$?
rm -f "$R"/etc/matryoshka/seal{,.new,.before,.before.new} "$R/etc/matryoshka/.seal.matryoshka-new"
rm -rf "$R/etc/matryoshka/kept"
exit $stayed
