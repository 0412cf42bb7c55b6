# The next restore may replace what this one has kept.
rm -rf "$work/restore"
forget_programs
[ ! -d "$work/before-restore" ] || write_file "$work/before-restore/finished" 600 $'yes\n' || exit 1
