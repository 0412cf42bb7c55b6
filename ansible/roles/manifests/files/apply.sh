# Applies a user's manifests one by one, and reports a failure in kubectl's own words. A definition or namespace of the same
# file is known some moments later. Fields of another manager are not taken over.
apply() {
  base64 -d <<< "$1" | gunzip |
    timeout -k 10 60 kubectl apply --server-side --field-manager=matryoshka-manifests -f - 2>&1
}
while read -r file content; do
  [ -n "$file" ] || continue
  until=$((SECONDS + 60)) pause=1
  until out=$(apply "$content"); do
    said=$(grep -vE '^Warning: | serverside-applied$' <<< "$out" | head -n 3 | cut -c1-300)
    [ $SECONDS -lt $until ] || fail "$file: ${said:-kubectl was ended after 60 s}"
    sleep $pause; pause=$((pause < 8 ? pause * 2 : 15))
  done
done <<< "$MANIFESTS"
sum=$(sha256sum <<< "$MANIFESTS" | cut -d' ' -f1)
is_installed manifests "$sum" || { mark manifests "$sum"; changed "manifests: $(grep -c . <<< "$MANIFESTS") files"; }
