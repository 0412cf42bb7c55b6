# The cluster is restored. Keeps the data of before this restore, and of before the attempts that led to it; removes older.
umask 077
last=$(cat "$work/before-restore/finished" 2>/dev/null) || last=0
mkdir -p "$work/before-restore" || exit 1
# An earlier attempt of this operation may have removed all that may go.
if [ "$last" != "$SEQUENCE" ]; then
  for folder in "$work/before-restore"/[0-9]* "$R/var/lib/etcd/.before-restore"/[0-9]*; do
    [ ! -d "$folder" ] || [ "${folder##*/}" -gt "$last" ] || rm -rf "$folder"
  done
  write_file "$work/before-restore/finished" 600 "$SEQUENCE"$'\n' || exit 1
fi
# The snapshot there is not encrypted.
rm -rf "$work/restore"
forget_programs
