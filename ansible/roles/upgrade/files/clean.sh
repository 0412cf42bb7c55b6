# Removes programs and images that only another version than KUBE_VERSION needs.
for file in "$installed"/image-*; do
  [ -e "$file" ] || continue
  mark=${file##*/}
  keep=
  while read -r image _; do
    [ -n "$image" ] && [ "image-${image//[\/:]/_}" = "$mark" ] && keep=yes
  done <<< "$IMAGES"
  [ -z "$keep" ] || continue
  for image in $(ctr -n k8s.io images ls -q); do
    [ "image-${image//[\/:]/_}" = "$mark" ] || continue
    out=$(ctr -n k8s.io images rm "$image" 2>&1) || fail "cannot remove $image: $(tail -1 <<< "$out")"
    changed "$image is removed"
  done
  rm -f "$file"
done
# The snapshot from before the upgrade stays, and older ones go.
rm -rf "$work/upgrade.gone" "$R"/etc/kubernetes/{.upgrade.matryoshka,.put-back.matryoshka-new}
for thing in "$work"/upgrade/* "$work"/upgrade/.[!.]*; do
  [ -e "$thing" ] && [ "${thing##*/}" != "${FROM:-$KUBE_VERSION}.db" ] || continue
  # A rename first: half a folder of kept files would look like a whole one.
  mv -fT "$thing" "$work/upgrade.gone" && rm -rf "$work/upgrade.gone" || fail "$thing cannot be removed"
done
did changed
