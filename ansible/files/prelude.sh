# Precedes every script that host_script sends. MATRYOSHKA_ROOT: a directory that represents a host, in tests.
set -u
R=${MATRYOSHKA_ROOT:-}
state=$R/run/matryoshka installed=$R/etc/matryoshka/installed work=$R/var/lib/matryoshka manifest=$R/etc/matryoshka/made
# The host decides which PATH sudo sets. Our programs are in /usr/local, and iptables is in /usr/sbin.
export PATH=/usr/local/sbin:/usr/local/bin:$PATH:/usr/sbin:/usr/bin:/sbin:/bin
# Text is bytes: a line of /etc/hosts need not be UTF-8.
export LC_ALL=C
export KUBECONFIG=/etc/kubernetes/admin.conf KUBECACHEDIR=/run/matryoshka/kube

changed() { echo "changed: $*"; }
did() { echo "did: $*"; }
result() { echo "result: $1=$2"; }
version() { echo "version: $1=$2"; }
fail() { echo "$*" >&2; exit 1; }
# End all scripts of the task, also those that continue after a failure: `abort` on an error, `enough` if no work is left.
abort() { echo "$*" >&2; exit 3; }
enough() { exit 4; }
# An IPv6 address has brackets in a URL (RFC 3986).
in_url() { case $1 in *:*) echo "[$1]" ;; *) echo "$1" ;; esac; }

# --- writing files: the same lines are in fence, prelude.sh and watch, because each reaches a host by itself

# Reports that a file cannot be written, with the last message of a program: "tee: /etc/x: No space left on device".
unwritten() { # PATH SAID
  printf '%s cannot be written: %s\n' "$1" "${2##*: }" >&2
  return 1
}
# Writes TEXT to a file, completely or not at all: it writes beside the file, reads that again, syncs and renames it. If a
# step fails, it reports the reason, and the file is unchanged.
write_file() { # PATH MODE TEXT
  (
    new=${1%/*}/.${1##*/}.matryoshka-new
    said=$(mkdir -p "${1%/*}" 2>&1) || { unwritten "$1" "$said"; exit 1; }
    umask 077
    # Only tee reports the reason in every shell.
    said=$({ rm -f "$new" && printf %s "$3" | tee "$new" > /dev/null && chmod "$2" "$new" && sync "$new"; } 2>&1) &&
      { [ "$(cat "$new" && echo .)" = "$3." ] || { said='it reads other than it was written'; false; }; } &&
      said=$({ mv -fT "$new" "$1" && sync "${1%/*}"; } 2>&1) && exit 0
    rm -f "$new"
    unwritten "$1" "$said"
  )
}

# --- end of writing files
# mark NAME TEXT: records TEXT as the installed version of NAME.
mark() { write_file "$installed/$1" 644 "$2"$'\n' || exit 1; }
is_installed() { [ "$(cat "$installed/$1" 2>/dev/null)" = "$2" ]; }

# overwrite FILE NEW: writes like write_file, to a file that may be a mount and so cannot be replaced. Deletes NEW. The file
# keeps its blocks meanwhile, so that its old text still fits if NEW does not.
overwrite() {
  local old=$work/${1##*/}.old said undone=
  said=$(cp "$1" "$old" 2>&1 && cmp "$1" "$old" 2>&1) || { rm -f "$old" "$2"; fail "$1 cannot be written, since no copy of it can be kept in $work: ${said##*: }"; }
  said=$(into "$1" "$2") && { rm -f "$old" "$2"; return; }
  into "$1" "$old" > /dev/null || undone="; what it had is in $old: put that back"
  [ -n "$undone" ] || rm -f "$old"
  rm -f "$2"
  unwritten "$1" "$said$undone"; exit 1
}
into() { # FILE NEW: prints what is wrong
  { dd "if=$2" "of=$1" bs=64K conv=notrunc,fsync status=none && truncate -s "$(wc -c < "$2")" "$1" && cmp "$1" "$2"; } 2>&1
}

# --- the manifest: a line `ROLE KIND THING` for each thing that we made on this host, written before the thing is made

# Prints the cluster of /etc/matryoshka/joined, `CLUSTER NODE ADDRESS`. Hosts that joined with an earlier version have only
# the cluster.
joined_cluster() { sed -n '1s/ .*//; 1p' "$R/etc/matryoshka/joined" 2>/dev/null; }
# Prints complete lines only: a line without its end may be half of a path.
made_lines() {
  local line
  while IFS= read -r line; do printf '%s\n' "$line"; done 2>/dev/null < "$manifest"
  true
}
made_by() { made_lines | sed -n '1s/^cluster //p'; }
made_of() { made_lines | sed -n "s/^$ROLE $1 //p"; } # KIND
# Starts no program, because some scripts check dozens of things.
is_made() {
  local kind= thing=
  while IFS=' ' read -r _ kind thing; do [ "$kind $thing" != "$1 $2" ] || return 0; done 2>/dev/null < "$manifest"
  return 1
}
cut_line() {
  local line=
  while IFS= read -r line; do :; done 2>/dev/null < "$manifest"
  printf %s "$line"
}
about_cut_line() {
  local line; line=$(cut_line)
  [ -z "$line" ] || printf '; the last line of %s, "%s", has no end and is ignored: if it is whole, end it (echo >> %s), else delete it' \
    "$manifest" "$line" "$manifest"
}
# add_made LINES: adds lines under a lock, because scripts run in parallel.
add_made() {
  local made; mkdir -p "$state"
  { flock 7 && made=$(made_lines) && write_file "$manifest" 644 "$made${made:+$'\n'}${1%$'\n'}"$'\n'; } 7> "$state/made.lock" || exit 1
}
# Whether a reset must keep this path, whatever the manifest says. A user may have edited the manifest.
is_system_path() { # PATH
  case $1 in
    [!/]* | */ | *//* | */. | */.. | */./* | */../* | '') ;;
    /bin | /boot | /dev | /etc | /home | /lib | /lib32 | /lib64 | /libx32 | /media | /mnt | /opt | /proc | /root | /run | /sbin | /srv | /sys | /tmp | /usr | /var) ;;
    /boot/* | /dev/* | /proc/* | /sys/* | /home/* | /root/*) ;;
    /etc/ssh | /etc/systemd | /etc/systemd/system | /etc/sysctl.d | /etc/modules-load.d | /etc/passwd | /etc/shadow | /etc/fstab | /etc/hosts) ;;
    /usr/bin | /usr/sbin | /usr/lib | /usr/lib32 | /usr/lib64 | /usr/libexec | /usr/share | /usr/src | /usr/include | /usr/local | /usr/local/[a-z]* ) 
      case $1 in /usr/local/*/*) return 1 ;; esac ;;
    /var/backups | /var/cache | /var/lib | /var/lib/dpkg | /var/lib/rpm | /var/lib/systemd | /var/local | /var/log | /var/mail | /var/opt | /var/run | /var/spool | /var/tmp) ;;
    *) return 1 ;;
  esac
}
# Whether a folder is empty. A link counts by its target.
is_empty() { [ -z "$(find -H "$1" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .matryoshka-removed 2>/dev/null | head -1)" ]; }

# own KIND THING… [KIND THING…]…: lists things before a script makes them, in one write that reaches the disk. That write is
# slow while images arrive, so a role lists all its things at once. A thing that exists and is not listed is not ours. A
# shared folder (dir) is left out, so a reset never removes it. A foreign file or tree ends the script. Callers check
# the other kinds.
own() {
  local kind= thing lines=
  for thing; do
    case $thing in file | dir | tree | unit | sysctl | link | table | shared | chains | sets | line | before) kind=$thing; continue ;; esac
    [ -n "$kind" ] || fail "own: $thing is no kind"
    case $kind in file | tree) ! is_system_path "$thing" || fail "own: $thing is the system's" ;; esac
    ! is_made "$kind" "$thing" || continue
    case $kind in
      file) [ ! -e "$R$thing" ] && [ ! -L "$R$thing" ] || fail "$thing is there, and was not made by Matryoshka; remove it if it is not needed$(about_cut_line)" ;;
      dir) [ ! -e "$R$thing" ] || continue ;;
      tree)
        # kubelet and containerd find their mounts by the kernel's path, so they find none through a link.
        [ ! -L "$R$thing" ] || fail "$thing is a link to $(readlink "$R$thing"); put a folder there, and mount or bind the other disk on it"
        ! is_made content "$thing" || continue
        if [ -e "$R$thing" ]; then
          is_empty "$R$thing" || fail "$thing is not empty, and was not made by Matryoshka; empty it if its content is not needed$(about_cut_line)"
          # The folder itself is not ours. It may be a separate disk.
          lines="$lines$ROLE content $thing"$'\n'; continue
        fi ;;
    esac
    lines="$lines$ROLE $kind $thing"$'\n'
  done
  [ -z "$lines" ] || add_made "$lines"
}

mounts_under() { awk -v p="$1" 'index($5, p "/") == 1 { print $5 }' /proc/self/mountinfo; }
is_mount() { awk -v p="$1" '$5 == p { y = 1 } END { exit !y }' /proc/self/mountinfo; }

# release_mounts PATTERN: unmounts what our runtime or kubelet has mounted, deepest first.
release_mounts() {
  local mount
  awk '{ print $5 }' /proc/self/mountinfo | grep -E "$1" | sort -ru | while read -r mount; do
    mount=$(printf '%b' "$mount"); umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null
  done
}

# Removes a tree of ours, unless something foreign is mounted in it.
remove_tree() { # PATH ARGUMENT-OF-FIND…
  local path=$R$1 named=$1 mounts left
  ! is_system_path "$1" || { echo "not removed, because it is a folder of the system: $1" >&2; return 1; }
  # No script has checked that the target of a link is empty, or a user has made the link. It may hold more than our files.
  if [ -L "$path" ]; then
    is_empty "$path" && return
    echo "not removed, because $1 is a link to $(readlink "$path"): remove what is not needed there, then the link; retry, or let another cluster take the host, which resets it first" >&2
    return 1
  fi
  [ -e "$path" ] || return 0
  mounts=$(mounts_under "$path")
  [ -z "$mounts" ] || { echo "not removed, because something that is not ours is mounted there: $(echo $mounts)" >&2; return 1; }
  shift
  find "$path" -xdev "$@" -exec rm -rf --one-file-system {} +
  left=$(find "$path" -xdev "$@" 2>/dev/null | head -n 3)
  [ -z "$left" ] || { echo "not removed: ${left//$'\n'/, }; of $named" >&2; return 1; }
}

# Deleting image stores and volumes may take longer than a reset has. So they are renamed in the same file system and deleted
# there, after the reset if necessary. The names are the same on every host, because a power cut leaves these folders but no
# list of them.
asides=(/var/lib/.containerd.matryoshka-removed /var/lib/.kubelet.matryoshka-removed /var/lib/containerd/.matryoshka-removed /var/lib/kubelet/.matryoshka-removed)
remove_large() { # tree | content PATH
  local path=$R$2 aside=$R$2/.matryoshka-removed to
  [ "$1" = content ] || aside=$R${2%/*}/.${2##*/}.matryoshka-removed
  if [ -d "$path" ] && [ ! -L "$path" ] && ! is_system_path "$2" && [ -z "$(mounts_under "$path")" ]; then
    # The node's keys are deleted at once.
    rm -rf --one-file-system "${path:?}/pki"
    # Without space for a folder, the tree is removed in place.
    if mkdir -p "$aside" 2>/dev/null && chmod 700 "$aside" && to=$(mktemp -d "$aside/XXXXXX" 2>/dev/null); then
      if [ "$1" = tree ]; then mv -T "$path" "$to/removed"
      else find "$path" -xdev -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .matryoshka-removed -exec mv -t "$to" {} +; fi
    fi
  fi
  delete_asides
}
# Deletes renamed trees. Returns 1 if one remains and nothing will delete it.
delete_asides() {
  local aside there=()
  for aside in "${asides[@]}"; do [ ! -d "$R$aside" ] || there+=("$R$aside"); done
  [ ${#there[@]} != 0 ] || return 0
  timeout "${REMOVE_SECONDS:-20}" rm -rf --one-file-system "${there[@]}"
  case $? in
    0) return ;;
    124) ;;
    *) echo "not removed: ${there[*]}" >&2; return 1 ;;
  esac
  systemd-run --quiet --collect --unit="matryoshka-removal-$$-$RANDOM" --nice=19 --property=IOSchedulingClass=idle --property=RuntimeMaxSec=21600 \
    rm -rf --one-file-system "${there[@]}" || { echo "not removed: ${there[*]}" >&2; return 1; }
  echo "changed: what was in ${there[*]} is deleted in the background"
}

# Only multi-user.target wants our units. These functions do what `systemctl enable` and `disable --now` would do. For these
# commands the manager reads every unit file, a sixth of a second each time (systemd.unit, WantedBy=).
enable_unit() { # UNIT, whose file may have changed
  local wanted=/etc/systemd/system/multi-user.target.wants/$1
  local said
  [ -L "$R$wanted" ] || said=$({ mkdir -p "$R${wanted%/*}" && ln -sfn "/etc/systemd/system/$1" "$R$wanted"; } 2>&1) || { unwritten "$wanted" "$said"; exit 1; }
  [ "$(systemctl show -P NeedDaemonReload "$1" 2>/dev/null)" != yes ] || systemctl daemon-reload
}
disable_unit() { # UNIT; its end as well
  systemctl stop "$1" 2>/dev/null
  find "$R/etc/systemd/system" -mindepth 2 -maxdepth 2 -type l -name "$1" -delete 2>/dev/null
}

restore_sysctl() { # NAME=VALUE, as it was before us
  case $1 in net/ipv4/conf/*/forwarding=0)
    # Another program has made the host a router since, or the interface is gone.
    [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 0 ] && [ -e "/proc/sys/${1%=*}" ] || return 0 ;;
  esac
  sysctl -q -w "$1"
}

# unmake: undoes this role's lines of the manifest, the last first. Returns 1 if something remains.
unmake() {
  local kind thing stayed=0
  [ -e "$manifest" ] || return 0
  read -r _ kind thing <<< "$(cut_line | grep "^$ROLE ")"
  case $kind in file | dir | tree | content) [ ! -e "$R$thing" ] || { echo "not removed: $thing$(about_cut_line)" >&2; stayed=1; } ;; esac
  while read -r _ kind thing; do
    case $kind in file | dir)
      ! is_system_path "$thing" || [ "$kind $thing" = 'dir /usr/libexec' ] || { echo "not removed, because it is the system's: $thing" >&2; stayed=1; continue; } ;;
    esac
    case $kind in
      file) rm -f "$R$thing" "$R${thing%/*}/.${thing##*/}.matryoshka-new" || stayed=1 ;;
      dir) [ ! -d "$R$thing" ] || rmdir "$R$thing" 2>/dev/null ;;
      content)
        case $thing in /var/lib/containerd | /var/lib/kubelet) remove_large content "$thing" || stayed=1 ;; esac
        remove_tree "$thing" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .matryoshka-removed || stayed=1 ;;
      tree)
        if is_mount "$R$thing"; then echo "not removed, because something that is not ours is mounted there: $thing" >&2; stayed=1
        else
          case $thing in /var/lib/containerd | /var/lib/kubelet) remove_large tree "$thing" || stayed=1 ;; esac
          remove_tree "$thing" -maxdepth 0 || stayed=1
        fi ;;
      unit) disable_unit "$thing"; systemctl reset-failed "$thing" 2>/dev/null ;;
      sysctl) restore_sysctl "$thing" 2>/dev/null ;;
      link) ! ip link show "$thing" > /dev/null 2>&1 || { ip link delete "$thing" && changed "$thing"; } ;;
      table) ! nft list table "${thing% *}" "${thing#* }" > /dev/null 2>&1 || { nft delete table "${thing% *}" "${thing#* }" && changed "rules of ${thing#* }"; } ;;
    esac
  done < <(made_lines | grep "^$ROLE " | tac)
  return $stayed
}

# --- files

# put PATH MODE TEXT: writes TEXT and a line end to a file of ours. Returns 1 only if the file has this text already; every
# failure ends the script. It uses no here-document: without space in /tmp, that would look like status 1.
put() {
  own file "$1"
  [ "$(cat "$R$1" 2>/dev/null; echo .)" != "$3"$'\n.' ] || return 1
  [ -n "$3" ] || fail "$1 is not written: it would be empty"
  write_file "$R$1" "$2" "$3"$'\n' || exit 1
  changed "$1"
}

# untar_into FOLDER BASE64: extracts a small .tar.gz, such as one of certificates. If extraction fails, the folder is
# unchanged.
untar_into() {
  local new=$1/.matryoshka-new said file
  said=$({ rm -rf "$new" && mkdir -p "$new" && printf %s "$2" | base64 -d | tar -xzf - --no-same-owner -C "$new" && sync -f "$new"; } 2>&1) ||
    unfinished "$1" "$(grep -v 'Exiting with failure' <<< "$said")" "$new"
  while read -r file; do
    said=$({ mkdir -p "$1/${file%/*}" && mv -fT "$new/$file" "$1/$file"; } 2>&1) || unfinished "$1/$file" "$said" "$new"
  done < <(cd "$new" && find . -type f | sed 's#^\./##; s#^[^/]*$#./&#')
  rm -rf "$new"
}

# Writes the name servers for pods, if the cluster has its own. kubeadm's reset removes the file.
write_resolv_conf() {
  # shellcheck disable=SC2086
  [ -z "$RESOLV_NAMESERVERS" ] || write_file "$R/etc/kubernetes/resolv.conf" 644 "$(printf 'nameserver %s\n' $RESOLV_NAMESERVERS)"$'\n' || exit 1
}

# Prints the SHA-256 of standard input. openssl, if present, takes a sixth of the time, because it uses instructions for it.
sha256_of() { if command -v openssl > /dev/null; then openssl dgst -sha256 -r; else sha256sum; fi; }

# fetch NAME PATH SHA256 [FILE]: downloads to FILE, or to $work/NAME. The sum is computed afterwards, because a pipe costs as
# much as curl itself.
fetch() {
  local sum said file=${4:-$work/$1}
  said=$(curl -fsS --retry 5 --retry-delay 1 --retry-all-errors --connect-timeout 10 --max-time 900 -o "$file" \
    "$ARTIFACTS_BASE_URL/$2" 2>&1) || {
    case $? in 23) unfinished "$file" 'see that there is room, and that it can be written' "$file" ;; esac
    rm -f "$file"
    fail "cannot fetch $ARTIFACTS_BASE_URL/$2: $(tail -1 <<< "$said")"
  }
  sum=$(sha256_of < "$file")
  [ "${sum%% *}" = "$3" ] || { rm -f "$file"; fail "$2 does not have the sum $3"; }
}
# unfinished PATH SAID GARBAGE…: ends the script after a failed write, and removes GARBAGE.
unfinished() { [ $# -lt 3 ] || rm -rf "${@:3}"; unwritten "$1" "$2"; exit 1; }

# unpack NAME IMAGE: copies the files of a containerd image to $work/NAME. Returns 1 if they are there already.
unpack() {
  local root=$work/$1 mount=$work/$1.image out copied
  ! is_installed "$1" "$2" || [ ! -d "$root" ] || return 1
  out=$(rm -rf "$root.new" 2>&1) || unfinished "$root" "$out"
  mount_image "$2" "$mount"
  out=$({ cp -a "$mount" "$root.new" && sync -f "$root.new"; } 2>&1); copied=$?
  unmount_image "$mount"
  [ "$copied" = 0 ] || unfinished "$root" "$out" "$root.new"
  # As long as this mark exists, the folder counts as the unpacked image.
  rm -f "$installed/$1"
  out=$({ rm -rf "$root" && mv -T "$root.new" "$root"; } 2>&1) || unfinished "$root" "$out"
  mark "$1" "$2"; changed "$2"
}
# mount_image IMAGE FOLDER: pulls the image if containerd does not have it, and mounts its files.
mount_image() {
  local out
  ctr -n k8s.io images ls -q "name==$1" | grep -q . ||
    out=$(ctr -n k8s.io images pull --hosts-dir /etc/containerd/certs.d "$1" 2>&1) || fail "cannot pull $1: $(tail -1 <<< "$out")"
  # An interrupted script may have left it mounted.
  [ ! -d "$2" ] || unmount_image "$2"
  out=$(mkdir -p "$2" 2>&1) || unfinished "$2" "$out"
  out=$(ctr -n k8s.io images mount "$1" "$2" 2>&1) || fail "cannot mount $1: $(tail -1 <<< "$out")"
}
unmount_image() { # FOLDER
  ctr -n k8s.io images unmount --rm "$1" > /dev/null 2>&1
  rmdir "$1"
}

# Installs a program. The download goes beside the target: /var may be another disk, where moving is copying.
binary() { # NAME PATH SHA256 TARGET
  local new=${4%/*}/.${4##*/}.matryoshka said
  own file "$4" "$new"
  ! is_installed "$1" "$3" || [ ! -x "$4" ] || return 0
  fetch "$1" "$2" "$3" "$new"
  said=$({ chmod 755 "$new" && sync "$new" && mv -fT "$new" "$4" && sync "${4%/*}"; } 2>&1) || unfinished "$4" "$said" "$new"
  mark "$1" "$3"; changed "$1"
}

# archive NAME PATH SHA256 FOLDER [MEMBER…]: extracts files of a .tar.gz to a folder: all of them, or the named ones.
archive() {
  local unpacked=$4/.$1.matryoshka files said
  own tree "$unpacked"
  ! is_installed "$1" "$3" || return 0
  fetch "$1" "$2" "$3"
  said=$({ rm -rf "$unpacked" && mkdir -p "$unpacked" &&
    tar -xzf "$work/$1" -C "$unpacked" --no-same-owner --wildcards --no-anchored "${@:5}" && sync -f "$unpacked"; } 2>&1) ||
    unfinished "$4 ($1)" "$(grep -v 'Exiting with failure' <<< "$said")" "$unpacked" "$work/$1"
  mapfile -t files < <(find "$unpacked" -type f -printf "$4/%f\n")
  own file "${files[@]}"
  said=$({ find "$unpacked" -type f -exec mv -f -t "$4" {} + && sync "$4"; } 2>&1) || unfinished "$4 ($1)" "$said"
  rm -rf "${work:?}/${1:?}" "$unpacked"; mark "$1" "$3"; changed "$1"
}
