# The drift agent goes first, because nothing that the reset undoes is drift.
unmake; stayed=$?
rm -f "$R"/etc/matryoshka/seal{,.new,.before,.before.new} "$R/etc/matryoshka/.seal.matryoshka-new"
rm -rf "$R/etc/matryoshka/kept"
exit $stayed
