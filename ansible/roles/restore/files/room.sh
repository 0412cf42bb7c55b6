# Refuses a snapshot for which the disks of this host have no room: one that receives it needs the file, and each one etcd's
# data that is made of it, beside the data of now.
mkdir -p "$work/restore" || exit 1
data=/var/lib/etcd
[ -d $data ] || data=/var/lib
kept=
for folder in "$work/before-restore" $data/.before-restore; do
  [ -z "$(ls -A "$folder" 2>/dev/null)" ] || kept="; $folder has data of before former restores"
done
needs() { # FOLDER BYTES
  local left; left=$(df --output=avail -B1 "$1" | tail -1)
  [ "$left" -gt "$2" ] ||
    fail "there is no room for the snapshot: $1 has $left bytes left, and $2 are needed; nothing was changed$kept"
}
if [ -n "$RECEIVES" ]; then
  needs "$work/restore" $((SIZE * 3))
  needs $data $((SIZE * 3))
else
  needs $data $((SIZE * 2))
fi
# Data that is not renamed is copied there.
disk() { df --output=source "$1" | tail -1; } # FOLDER
[ "$(disk "$work")" = "$(disk $data)" ] || mountpoint -q $data || [ ! -d $data/member ] ||
  needs "$work" "$(find $data/member -type f -printf '%b\n' | awk '{ n += $1 * 512 } END { print n + 0 }')"
