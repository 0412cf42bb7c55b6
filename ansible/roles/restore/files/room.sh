# Refuses a snapshot for which the disks of this host have no room: the file, and etcd's data that is made of it.
mkdir -p "$work/restore" || exit 1
data=/var/lib/etcd
[ -d $data ] || data=/var/lib
room() { df --output=avail -B1 "$1" | tail -1; } # FOLDER
for folder in "$work/restore" $data; do
  [ "$(room "$folder")" -gt $((SIZE * 2)) ] ||
    fail "there is no room for the snapshot: $folder has $(room "$folder") bytes left, and $((SIZE * 2)) are needed; nothing was changed"
done
