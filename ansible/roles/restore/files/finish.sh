# The next restore may replace what this one has kept.
rm -rf "$work/restore"
forget_programs
[ ! -d "$work/before-restore" ] || : > "$work/before-restore/finished"
