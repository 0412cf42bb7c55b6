# A user's own manifests, one file after the other; where one fails, kubectl's own words say why. What a definition or a
# namespace of the same file brings is known some moments later. Fields that somebody else manages are not taken over.
apply() {
  base64 -d <<< "$1" | gunzip |
    timeout -k 10 120 kubectl apply --server-side --field-manager=matryoshka-manifests -f - 2>&1
}
while read -r file content; do
  [ -n "$file" ] || continue
  for pause in 1 2 4 8 15 30 none; do
    out=$(apply "$content") && break
    said=$(grep -vE '^Warning: | serverside-applied$' <<< "$out" | head -n 3 | cut -c1-300)
    [ "$pause" != none ] || fail "$file: ${said:-kubectl was ended after 120 s}"
    sleep "$pause"
  done
done <<< "$MANIFESTS"
sum=$(sha256sum <<< "$MANIFESTS" | cut -d' ' -f1)
is_installed manifests "$sum" || { echo "$sum" > "$installed/manifests"; changed "manifests: $(grep -c . <<< "$MANIFESTS") files"; }
