# Stands before every script that host_script sends. MATRYOSHKA_ROOT: a directory that stands for a host, in tests.
set -u
R=${MATRYOSHKA_ROOT:-}
state=$R/run/matryoshka installed=$R/etc/matryoshka/installed work=$R/var/lib/matryoshka manifest=$R/etc/matryoshka/made
# What sudo makes of PATH is the host's choice: without /usr/local it finds nothing of ours, without /usr/sbin not iptables.
export PATH=/usr/local/sbin:/usr/local/bin:$PATH:/usr/sbin:/usr/bin:/sbin:/bin
export KUBECONFIG=/etc/kubernetes/admin.conf KUBECACHEDIR=/run/matryoshka/kube

changed() { echo "changed: $*"; }
did() { echo "did: $*"; }
result() { echo "result: $1=$2"; }
version() { echo "version: $1=$2"; }
fail() { echo "$*" >&2; exit 1; }
# Of several scripts, also those that would go on after a failure: none follows, because of an error, or for want of work.
abort() { echo "$*" >&2; exit 3; }
enough() { exit 4; }
# An IPv6 address stands in brackets there (RFC 3986).
in_url() { case $1 in *:*) echo "[$1]" ;; *) echo "$1" ;; esac; }

# --- the manifest: what we made on this host, a line each, `ROLE KIND THING`, written before the thing is made

# /etc/matryoshka/joined: `CLUSTER NODE ADDRESS`; hosts that joined earlier have the cluster alone.
joined_cluster() { sed -n '1s/ .*//; 1p' "$R/etc/matryoshka/joined" 2>/dev/null; }
made_by() { sed -n '1s/^cluster //p' "$manifest" 2>/dev/null; }
# Without a program: some scripts ask for dozens of things.
is_made() {
  local kind= thing=
  # A person may have saved it without the end of its last line.
  while IFS=' ' read -r _ kind thing || [ -n "$kind" ]; do [ "$kind $thing" != "$1 $2" ] || return 0; done 2>/dev/null < "$manifest"
  return 1
}
is_empty() { [ -z "$(find "$1" -mindepth 1 -maxdepth 1 ! -name lost+found 2>/dev/null | head -1)" ]; }

# own KIND THING… [KIND THING…]…: lists what is going to be made, all by one write that reaches the disk. While images
# come that takes long, so a role says at once what it makes. What is there already and not listed is not ours: a folder of many
# users (dir), a value (sysctl, table) is left out and so never undone; a file or a tree of somebody's ends the script.
own() {
  local kind= thing lines=
  for thing; do
    case $thing in file | dir | tree | unit | sysctl | link | table | shared | chains | sets | line | before) kind=$thing; continue ;; esac
    [ -n "$kind" ] || fail "own: $thing is no kind"
    ! is_made "$kind" "$thing" || continue
    case $kind in
      file) [ ! -e "$R$thing" ] && [ ! -L "$R$thing" ] || fail "$thing is there, and was not made by Matryoshka; remove it if nobody needs it" ;;
      dir) [ ! -e "$R$thing" ] || continue ;;
      tree)
        ! is_made content "$thing" || continue
        if [ -e "$R$thing" ]; then
          is_empty "$R$thing" || fail "$thing is not empty, and was not made by Matryoshka; remove what is in it if nobody needs it"
          # The folder itself is somebody's, perhaps a disk of its own.
          lines="$lines$ROLE content $thing"$'\n'; continue
        fi ;;
    esac
    lines="$lines$ROLE $kind $thing"$'\n'
  done
  [ -z "$lines" ] || { printf %s "$lines" >> "$manifest"; sync "$manifest"; }
}

mounts_under() { awk -v p="$1" 'index($5, p "/") == 1 { print $5 }' /proc/self/mountinfo; }
is_mount() { awk -v p="$1" '$5 == p { y = 1 } END { exit !y }' /proc/self/mountinfo; }

# release_mounts PATTERN: unmounts what a runtime or a kubelet of ours has mounted, deepest first.
release_mounts() {
  local mount
  awk '{ print $5 }' /proc/self/mountinfo | grep -E "$1" | sort -ru | while read -r mount; do
    mount=$(printf '%b' "$mount"); umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null
  done
}

# A tree of ours goes, but nothing that somebody has mounted in it.
remove_tree() { # PATH ARGUMENT-OF-FIND…
  local path=$R$1 mounts; shift
  [ -e "$path" ] || return 0
  mounts=$(mounts_under "$path")
  [ -z "$mounts" ] || { echo "not removed, because something that is not ours is mounted there: $(echo $mounts)" >&2; return 1; }
  find "$path" -xdev "$@" -exec rm -rf --one-file-system {} +
}

# Units of ours are wanted by multi-user.target alone. These do what `systemctl enable` and `disable --now` would do of them,
# for which the manager reads every unit file that there is, a sixth of a second each time (systemd.unit, WantedBy=).
enable_unit() { # UNIT, whose file may have changed
  local wanted=/etc/systemd/system/multi-user.target.wants/$1
  mkdir -p "$R${wanted%/*}"
  [ -L "$R$wanted" ] || ln -sfn "/etc/systemd/system/$1" "$R$wanted"
  [ "$(systemctl show -P NeedDaemonReload "$1" 2>/dev/null)" != yes ] || systemctl daemon-reload
}
disable_unit() { # UNIT; its end as well
  systemctl stop "$1" 2>/dev/null
  find "$R/etc/systemd/system" -mindepth 2 -maxdepth 2 -type l -name "$1" -delete 2>/dev/null
}

# unmake: undoes the lines of this role, the last first. Answers 1 when something stayed.
unmake() {
  local kind thing stayed=0
  [ -e "$manifest" ] || return 0
  while read -r _ kind thing; do
    case $kind in
      file) rm -f "$R$thing" || stayed=1 ;;
      dir) [ ! -d "$R$thing" ] || rmdir "$R$thing" 2>/dev/null ;;
      content) remove_tree "$thing" -mindepth 1 -maxdepth 1 ! -name lost+found || stayed=1 ;;
      tree)
        if is_mount "$R$thing"; then echo "not removed, because something that is not ours is mounted there: $thing" >&2; stayed=1
        else remove_tree "$thing" -maxdepth 0 || stayed=1; fi ;;
      unit) disable_unit "$thing"; systemctl reset-failed "$thing" 2>/dev/null ;;
      sysctl) sysctl -q -w "$thing" 2>/dev/null ;;
      link) ! ip link show "$thing" > /dev/null 2>&1 || { ip link delete "$thing" && changed "$thing"; } ;;
      # shellcheck disable=SC2086
      table) ! nft list table $thing > /dev/null 2>&1 || { nft delete table $thing && changed "rules of ${thing#* }"; } ;;
    esac
  done < <(grep "^$ROLE " "$manifest" | tac)
  return $stayed
}

# --- files

# put PATH MODE: standard input becomes the file, which is ours, if it is not that already.
put() {
  own file "$1"
  local new; new=$(mktemp "$work/put.XXXXXX"); cat > "$new"
  if cmp -s "$new" "$R$1"; then rm -f "$new"; return 1; fi
  mkdir -p "$R${1%/*}"; chmod "$2" "$new"; mv -f "$new" "$R$1"; changed "$1"
}

# The sum of standard input. By openssl, where it is, in a sixth of the time: it uses what processors have for it.
sha256_of() { if command -v openssl > /dev/null; then openssl dgst -sha256 -r; else sha256sum; fi; }

# fetch NAME PATH SHA256 [FILE] → that file, or $work/NAME. Not summed on its way: pipes cost as much as curl itself.
fetch() {
  local sum file=${4:-$work/$1}
  curl -fsS --retry 5 --retry-delay 1 --retry-all-errors --connect-timeout 10 --max-time 900 -o "$file" \
    "$ARTIFACTS_BASE_URL/$2" 2> "$work/$1.err" || fail "cannot fetch $ARTIFACTS_BASE_URL/$2: $(tail -1 "$work/$1.err")"
  rm -f "$work/$1.err"
  sum=$(sha256_of < "$file")
  [ "${sum%% *}" = "$3" ] || { rm -f "$file"; fail "$2 does not have the sum $3"; }
}

# unpack NAME IMAGE: the files of an image of containerd, in $work/NAME. Answers 1 when they were there.
unpack() {
  local root=$work/$1 mount=$work/$1.image out copied
  ! is_installed "$1" "$2" || [ ! -d "$root" ] || return 1
  ctr -n k8s.io images ls -q "name==$2" | grep -q . ||
    out=$(ctr -n k8s.io images pull --hosts-dir /etc/containerd/certs.d "$2" 2>&1) || fail "cannot pull $2: $(tail -1 <<< "$out")"
  mkdir -p "$mount" && rm -rf "$root.new"
  out=$(ctr -n k8s.io images mount "$2" "$mount" 2>&1) || fail "cannot mount $2: $(tail -1 <<< "$out")"
  cp -a "$mount" "$root.new"; copied=$?
  ctr -n k8s.io images unmount --rm "$mount" > /dev/null 2>&1
  rmdir "$mount"
  [ "$copied" = 0 ] || fail "cannot unpack $2"
  rm -rf "$root"; mv "$root.new" "$root"
  echo "$2" > "$installed/$1"; changed "$2"
}

is_installed() { [ "$(cat "$installed/$1" 2>/dev/null)" = "$2" ]; }

# Programs come into their folder under another name first: /var may be another disk, and moving would be copying.
binary() { # NAME PATH SHA256 TARGET
  local new=${4%/*}/.${4##*/}.matryoshka
  own file "$4" "$new"
  ! is_installed "$1" "$3" || [ ! -x "$4" ] || return 0
  fetch "$1" "$2" "$3" "$new"
  chmod 755 "$new"; mv -f "$new" "$4"; echo "$3" > "$installed/$1"; changed "$1"
}

# archive NAME PATH SHA256 FOLDER [MEMBER…]: files of a .tar.gz, all of them or the ones that are named, go to a folder.
archive() {
  local unpacked=$4/.$1.matryoshka files
  own tree "$unpacked"
  ! is_installed "$1" "$3" || return 0
  fetch "$1" "$2" "$3"
  rm -rf "$unpacked"; mkdir -p "$unpacked"
  tar -xzf "$work/$1" -C "$unpacked" --no-same-owner --wildcards --no-anchored "${@:5}" || fail "cannot unpack $1"
  mapfile -t files < <(find "$unpacked" -type f -printf "$4/%f\n")
  own file "${files[@]}"
  find "$unpacked" -type f -exec mv -f -t "$4" {} +
  rm -rf "$work/$1" "$unpacked"; echo "$3" > "$installed/$1"; changed "$1"
}
