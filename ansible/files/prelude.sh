# Stands before every script that host_script sends. MATRYOSHKA_ROOT: a directory that stands for a host, in tests.
set -u
R=${MATRYOSHKA_ROOT:-}
state=$R/run/matryoshka installed=$R/etc/matryoshka/installed work=$R/var/lib/matryoshka manifest=$R/etc/matryoshka/made
# What sudo makes of PATH is the host's choice: without /usr/local it finds nothing of ours, without /usr/sbin not iptables.
export PATH=/usr/local/sbin:/usr/local/bin:$PATH:/usr/sbin:/usr/bin:/sbin:/bin
# Bytes, and not letters of some language: a line of /etc/hosts need not be UTF-8.
export LC_ALL=C
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

# --- writing files: the same lines in fence, prelude.sh and watch, each of which comes to a host by itself

# Reports that a file cannot be written, by what a program said last: "tee: /etc/x: No space left on device".
unwritten() { # PATH SAID
  printf '%s cannot be written: %s\n' "$1" "${2##*: }" >&2
  return 1
}
# Makes TEXT the content of a file, whole or not at all: written beside it, read again, synced, renamed. After a failure,
# which it reports, the file is as it was.
write_file() { # PATH MODE TEXT
  (
    new=${1%/*}/.${1##*/}.matryoshka-new
    said=$(mkdir -p "${1%/*}" 2>&1) || { unwritten "$1" "$said"; exit 1; }
    umask 077
    # tee alone names the reason in every shell.
    said=$({ rm -f "$new" && printf %s "$3" | tee "$new" > /dev/null && chmod "$2" "$new" && sync "$new"; } 2>&1) &&
      { [ "$(cat "$new" && echo .)" = "$3." ] || { said='it reads other than it was written'; false; }; } &&
      said=$({ mv -fT "$new" "$1" && sync "${1%/*}"; } 2>&1) && exit 0
    rm -f "$new"
    unwritten "$1" "$said"
  )
}

# --- end of writing files
# mark NAME TEXT: what of NAME is installed.
mark() { write_file "$installed/$1" 644 "$2"$'\n' || exit 1; }
is_installed() { [ "$(cat "$installed/$1" 2>/dev/null)" = "$2" ]; }

# overwrite FILE NEW: as write_file, for a file that may be a mount and so cannot be exchanged. NEW goes. Its blocks stay its own
# meanwhile, so that what it had fits into it again when NEW does not.
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

# --- the manifest: what we made on this host, a line each, `ROLE KIND THING`, written before the thing is made

# /etc/matryoshka/joined: `CLUSTER NODE ADDRESS`; hosts that joined earlier have the cluster alone.
joined_cluster() { sed -n '1s/ .*//; 1p' "$R/etc/matryoshka/joined" 2>/dev/null; }
# Whole lines alone: one without its end may be half of a path.
made_lines() {
  local line
  while IFS= read -r line; do printf '%s\n' "$line"; done 2>/dev/null < "$manifest"
  true
}
made_by() { made_lines | sed -n '1s/^cluster //p'; }
made_of() { made_lines | sed -n "s/^$ROLE $1 //p"; } # KIND
# Without a program: some scripts ask for dozens of things.
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
# add_made LINES: under a lock, since scripts run side by side.
add_made() {
  local made; mkdir -p "$state"
  { flock 7 && made=$(made_lines) && write_file "$manifest" 644 "$made${made:+$'\n'}${1%$'\n'}"$'\n'; } 7> "$state/made.lock" || exit 1
}
# Never undone, whatever the manifest says: somebody may have edited it.
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
# Of a link, what it leads to counts.
is_empty() { [ -z "$(find -H "$1" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .matryoshka-removed 2>/dev/null | head -1)" ]; }

# own KIND THING… [KIND THING…]…: lists what is going to be made, all by one write that reaches the disk. While images
# come that takes long, so a role says at once what it makes. What is there already and not listed is not ours: a folder of many
# users (dir), a value (sysctl, table) is left out and so never undone; a file or a tree of somebody's ends the script.
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
        # kubelet and containerd look for their mounts by the path that the kernel has, and find none through a link.
        [ ! -L "$R$thing" ] || fail "$thing is a link to $(readlink "$R$thing"); put a folder there, and mount or bind the other disk on it"
        ! is_made content "$thing" || continue
        if [ -e "$R$thing" ]; then
          is_empty "$R$thing" || fail "$thing is not empty, and was not made by Matryoshka; empty it if its content is not needed$(about_cut_line)"
          # The folder itself is somebody's, perhaps a disk of its own.
          lines="$lines$ROLE content $thing"$'\n'; continue
        fi ;;
    esac
    lines="$lines$ROLE $kind $thing"$'\n'
  done
  [ -z "$lines" ] || add_made "$lines"
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
  local path=$R$1 named=$1 mounts left
  ! is_system_path "$1" || { echo "not removed, because it is a folder of the system: $1" >&2; return 1; }
  # What a link leads to was never seen to be empty, or was put there by somebody: it may hold more than ours.
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

# Image stores and volumes may take longer than a reset has: they go under another name in the same file system, and are deleted
# from there, behind a reset if need be. Names of these are the same on every host, since a power cut leaves them, and no list.
asides=(/var/lib/.containerd.matryoshka-removed /var/lib/.kubelet.matryoshka-removed /var/lib/containerd/.matryoshka-removed /var/lib/kubelet/.matryoshka-removed)
remove_large() { # tree | content PATH
  local path=$R$2 aside=$R$2/.matryoshka-removed to
  [ "$1" = content ] || aside=$R${2%/*}/.${2##*/}.matryoshka-removed
  if [ -d "$path" ] && [ ! -L "$path" ] && ! is_system_path "$2" && [ -z "$(mounts_under "$path")" ]; then
    # Keys of the node at once.
    rm -rf --one-file-system "${path:?}/pki"
    # Without room for a folder it is removed where it is.
    if mkdir -p "$aside" 2>/dev/null && chmod 700 "$aside" && to=$(mktemp -d "$aside/XXXXXX" 2>/dev/null); then
      if [ "$1" = tree ]; then mv -T "$path" "$to/removed"
      else find "$path" -xdev -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .matryoshka-removed -exec mv -t "$to" {} +; fi
    fi
  fi
  delete_asides
}
# Answers 1 where one stays and nothing deletes it.
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

# Units of ours are wanted by multi-user.target alone. These do what `systemctl enable` and `disable --now` would do of them,
# for which the manager reads every unit file that there is, a sixth of a second each time (systemd.unit, WantedBy=).
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
    # Others made a router of the host since, or the link is gone.
    [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 0 ] && [ -e "/proc/sys/${1%=*}" ] || return 0 ;;
  esac
  sysctl -q -w "$1"
}

# unmake: undoes the lines of this role, the last first. Answers 1 when something stayed.
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

# put PATH MODE TEXT: the file, which is ours, has that text and an end of line. Answers 1 when it had it, and nothing else:
# whatever fails ends the script. No here-document: one that finds no room in /tmp would look like that.
put() {
  own file "$1"
  [ "$(cat "$R$1" 2>/dev/null; echo .)" != "$3"$'\n.' ] || return 1
  [ -n "$3" ] || fail "$1 is not written: it would be empty"
  write_file "$R$1" "$2" "$3"$'\n' || exit 1
  changed "$1"
}

# untar_into FOLDER BASE64: files of a .tar.gz, which is no bigger than certificates are; whole or none of them.
untar_into() {
  local new=$1/.matryoshka-new said file
  said=$({ rm -rf "$new" && mkdir -p "$new" && printf %s "$2" | base64 -d | tar -xzf - --no-same-owner -C "$new" && sync -f "$new"; } 2>&1) ||
    unfinished "$1" "$(grep -v 'Exiting with failure' <<< "$said")" "$new"
  while read -r file; do
    said=$({ mkdir -p "$1/${file%/*}" && mv -fT "$new/$file" "$1/$file"; } 2>&1) || unfinished "$1/$file" "$said" "$new"
  done < <(cd "$new" && find . -type f | sed 's#^\./##; s#^[^/]*$#./&#')
  rm -rf "$new"
}

# Name servers for pods instead of the host's, where there are any; kubeadm's reset removes the file.
write_resolv_conf() {
  # shellcheck disable=SC2086
  [ -z "$RESOLV_NAMESERVERS" ] || write_file "$R/etc/kubernetes/resolv.conf" 644 "$(printf 'nameserver %s\n' $RESOLV_NAMESERVERS)"$'\n' || exit 1
}

# The sum of standard input. By openssl, where it is, in a sixth of the time: it uses what processors have for it.
sha256_of() { if command -v openssl > /dev/null; then openssl dgst -sha256 -r; else sha256sum; fi; }

# fetch NAME PATH SHA256 [FILE] → that file, or $work/NAME. Not summed on its way: pipes cost as much as curl itself.
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
# unfinished PATH SAID GARBAGE…: ends the script after a write that failed.
unfinished() { [ $# -lt 3 ] || rm -rf "${@:3}"; unwritten "$1" "$2"; exit 1; }

# unpack NAME IMAGE: the files of an image of containerd, in $work/NAME. Answers 1 when they were there.
unpack() {
  local root=$work/$1 mount=$work/$1.image out copied
  ! is_installed "$1" "$2" || [ ! -d "$root" ] || return 1
  ctr -n k8s.io images ls -q "name==$2" | grep -q . ||
    out=$(ctr -n k8s.io images pull --hosts-dir /etc/containerd/certs.d "$2" 2>&1) || fail "cannot pull $2: $(tail -1 <<< "$out")"
  out=$({ mkdir -p "$mount" && rm -rf "$root.new"; } 2>&1) || unfinished "$root" "$out"
  out=$(ctr -n k8s.io images mount "$2" "$mount" 2>&1) || fail "cannot mount $2: $(tail -1 <<< "$out")"
  out=$({ cp -a "$mount" "$root.new" && sync -f "$root.new"; } 2>&1); copied=$?
  ctr -n k8s.io images unmount --rm "$mount" > /dev/null 2>&1
  rmdir "$mount"
  [ "$copied" = 0 ] || unfinished "$root" "$out" "$root.new"
  # What is there is taken for the image as long as this says so.
  rm -f "$installed/$1"
  out=$({ rm -rf "$root" && mv -T "$root.new" "$root"; } 2>&1) || unfinished "$root" "$out"
  mark "$1" "$2"; changed "$2"
}

# Programs come into their folder under another name first: /var may be another disk, and moving would be copying.
binary() { # NAME PATH SHA256 TARGET
  local new=${4%/*}/.${4##*/}.matryoshka said
  own file "$4" "$new"
  ! is_installed "$1" "$3" || [ ! -x "$4" ] || return 0
  fetch "$1" "$2" "$3" "$new"
  said=$({ chmod 755 "$new" && sync "$new" && mv -fT "$new" "$4" && sync "${4%/*}"; } 2>&1) || unfinished "$4" "$said" "$new"
  mark "$1" "$3"; changed "$1"
}

# archive NAME PATH SHA256 FOLDER [MEMBER…]: files of a .tar.gz, all of them or the ones that are named, go to a folder.
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
