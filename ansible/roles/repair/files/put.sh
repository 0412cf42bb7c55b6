# Replaces an existing file by one of the baseline.
as_sealed() { chmod "$(sealed "$1" 4)" "$2" && chown "$(sealed "$1" 5)" "$2"; } # PATH FILE
no_folder() { [ -L "$R$1" ] || [ ! -d "$R$1" ] || fail "a folder stands where $1 was; move it away and ask again"; } # PATH
# Keeps a replaced file, which may be a user's only copy: for root alone, in a folder where nothing uses it.
keep_replaced() { # PATH
  local to=$work/set-aside$1 said
  [ -e "$R$1" ] || [ -L "$R$1" ] || return 0
  [ -L "$R$1" ] || [ "$(sha256sum < "$R$1" | cut -d' ' -f1)" != "$(sealed "$1" 11)" ] || return 0
  while [ -e "$to" ] || [ -L "$to" ]; do ! cmp -s "$R$1" "$to" || return 0; to=$to~; done
  said=$({ mkdir -p "${to%/*}" && cp -PT "$R$1" "$to" && { [ -L "$to" ] || { chmod 600 "$to" && sync "$to"; }; }; } 2>&1) || unfinished "${to#"$R"}, where $1 is set aside," "$said" "$to"
  changed "$1 is set aside as ${to#"$R"}"
}
put_copy() { # PATH
  # The kubelet and systemd ignore a name that begins with a dot.
  local new=$R${1%/*}/.${1##*/}.matryoshka copy said
  copy=$(copy_of "$1") || fail "there is no copy of $1"
  no_folder "$1"; keep_replaced "$1"
  # Programs with their own user read in these folders.
  (umask 022; mkdir -p "$R${1%/*}")
  said=$({ cp "$copy" "$new" && cmp "$copy" "$new" && as_sealed "$1" "$new" && sync "$new" && mv -fT "$new" "$R$1" && sync "$R${1%/*}"; } 2>&1) || unfinished "$1" "$said" "$new"
  changed "$1 is as it was made"
}
# begin_exchange PATH…: copies files before new ones replace them. The copies are synced before anything is replaced: the host
# may die at any moment, and take_up then restores a complete copy. drop_exchanged deletes the copies.
begin_exchange() {
  local file said
  for file; do no_folder "$file"; done
  for file; do keep_replaced "$file"; done
  rm -rf "$exchanging.new"
  for file; do
    mkdir -p "$exchanging.new${file%/*}" || exit 1
    [ ! -e "$R$file" ] && [ ! -L "$R$file" ] || said=$(cp -aT "$R$file" "$exchanging.new$file" 2>&1) || unfinished "$exchanging$file" "$said" "$exchanging.new"
  done
  write_file "$exchanging.new/list" 600 "$(printf '%s\n' "$@")"$'\n' || exit 1
  said=$(sync -f "$exchanging.new" 2>&1) || unfinished "$exchanging" "$said" "$exchanging.new"
  mv -T "$exchanging.new" "$exchanging" || fail "$exchanging is there already; ask again"
  sync "${exchanging%/*}"
}
