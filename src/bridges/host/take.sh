# Takes the host for this session, as ansible/roles/fence/files/take.sh does for a run: by a copy of its own, which replaces
# the host's fence only once it has been let in.
R=${MATRYOSHKA_ROOT:-}
export PATH=/usr/local/sbin:/usr/local/bin:$PATH:/usr/sbin:/usr/bin:/sbin:/bin
for tool in bash ip nft sysctl flock; do
  command -v "$tool" > /dev/null || { echo "there is no $tool here; install bash, iproute2, nftables, procps and util-linux" >&2; exit 86; }
done
fence=$R/usr/local/sbin/matryoshka-fence
mkdir -p "${fence%/*}" || exit 1
new=$(mktemp "${fence%/*}/.matryoshka-fence.XXXXXX") || exit 1
trap 'rm -f "$new"' EXIT
printf '%s\n' "$FENCE" > "$new" && chmod 755 "$new" || exit 1
# shellcheck disable=SC2086
"$new" take $RUN; code=$?
[ "$code" = 0 ] || exit "$code"
{ [ -x "$fence" ] && cmp -s "$new" "$fence"; } || mv -f "$new" "$fence" || exit 1
