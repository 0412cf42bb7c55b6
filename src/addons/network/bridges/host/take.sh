# Takes the host for this session, as ansible/roles/fence/files/take.sh does for a run: by a copy of its own, which replaces
# the host's fence only once it has been let in.
R=${MATRYOSHKA_ROOT:-}
export LC_ALL=C
export PATH=/usr/local/sbin:/usr/local/bin:$PATH:/usr/sbin:/usr/bin:/sbin:/bin
for tool in bash ip ss nft sysctl flock; do
  command -v "$tool" > /dev/null || { echo "there is no $tool here; install bash, iproute2, nftables, procps and util-linux" >&2; exit 86; }
done
# Without the owner file the fence takes the host for nobody's: what stands here says whose it is, or was.
by=
if IFS= read -r by < "$R/etc/matryoshka/made"; then by=${by#cluster }; else by=; fi 2>/dev/null
[ -z "$by" ] || [ "$by" = "${RUN%% *}" ] || { echo "HostConflict: /etc/matryoshka/made lists what cluster $by has made here" >&2; exit 81; }
fence=$R/usr/local/sbin/matryoshka-fence
mkdir -p "${fence%/*}" || exit 1
new=$(mktemp "${fence%/*}/.matryoshka-fence.XXXXXX") || exit 1
trap 'rm -f "$new"' EXIT
# Without the prelude's write_file: there may be no bash to read it.
said=$({ printf '%s\n' "$FENCE" | tee "$new" > /dev/null && printf '%s\n' "$FENCE" | cmp -s - "$new" && chmod 755 "$new" && sync "$new"; } 2>&1) ||
  { said=${said##*: }; echo "$fence cannot be written: ${said:-it reads other than it was written}" >&2; exit 1; }
# shellcheck disable=SC2086
"$new" take $RUN; code=$?
[ "$code" = 0 ] || exit "$code"
{ [ -x "$fence" ] && cmp -s "$new" "$fence"; } || { mv -f "$new" "$fence" && sync "${fence%/*}"; } || exit 1
