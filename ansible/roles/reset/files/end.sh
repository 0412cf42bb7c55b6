# Runs last, and only if nothing remains, because a released host must be clean.
[ "$failed" = 0 ] || exit 1
rm -f "$manifest"
[ -z "$ONLY_RECLAIMED" ] || { changed "what cluster $RECLAIM had made is undone"; exit 0; }
# shellcheck disable=SC2086
/usr/local/sbin/matryoshka-fence release $RUN || exit 1
rm -f /usr/local/sbin/matryoshka-fence
rm -rf "$state"
changed released
did reset
