# Keeps files and etcd's data of before a restore in a folder of this operation, `kept`. A further attempt finds them there.
data=$R/var/lib/etcd
kept=$work/before-restore/$SEQUENCE
disk() { find "$1" -maxdepth 0 -printf %D; } # PATH

# keep_files FOLDER NAME: copies the folder, if it exists, to NAME.
keep_files() {
  local said
  [ ! -e "$kept" ] || return 0
  said=$({ rm -rf "$kept.new" && mkdir -p "$kept.new/$2" && { [ ! -d "$1" ] || cp -a "$1/." "$kept.new/$2/"; } &&
    sync -f "$kept.new" && mv -T "$kept.new" "$kept"; } 2>&1) || unfinished "$kept" "$said" "$kept.new"
}

# keep_data: moves etcd's data. Until the mark `complete` exists, etcd's folder has only data of before.
keep_data() {
  local former=$kept/etcd entry to said
  [ ! -e "$kept/complete" ] || return 0
  # On a disk of its own the data is only renamed, since a copy would need time, and room on another disk.
  if mountpoint -q "$data"; then former=$data/.before-restore/$SEQUENCE; fi
  said=$(mkdir -p "$data" "$former" 2>&1) || unfinished "$former" "$said"
  while IFS= read -r -d '' entry; do
    to=$former/${entry##*/}
    # A whole copy is there under its own name; what was copied halfway is copied again.
    if [ ! -e "$to" ] && [ "$(disk "$former")" = "$(disk "$entry")" ]; then said=$(mv -T "$entry" "$to" 2>&1) || unfinished "$former" "$said"
    elif [ ! -e "$to" ]; then
      said=$({ rm -rf "$kept/.copy" && cp -aT "$entry" "$kept/.copy" && sync -f "$kept" && mv -T "$kept/.copy" "$to" && sync -f "$kept"; } 2>&1) || unfinished "$former" "$said" "$kept/.copy"
    fi
    rm -rf "$entry"
  done < <(find "$data" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .before-restore -print0)
  write_file "$kept/complete" 600 $'yes\n' || exit 1
  changed "the former data of etcd is in $former"
}
