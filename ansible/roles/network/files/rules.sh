# Functions that remove packet rules and address sets of pods.
# tool NAME ARGUMENT…: runs the host's own program, or else that of the image that made rules and sets.
tool() { if command -v "$1" > /dev/null; then "$@"; else chroot "$work/network-policies" "$@"; fi; }
has_tool() { command -v "$1" > /dev/null || [ -d "$work/network-policies" ]; }
# remove_chains COMMAND TABLE PREFIXES COMMENT: removes chains with these prefixes (alternatives of a regular expression), the
# jumps to them, and rules of shared chains whose comment begins so. Returns 1 if a chain remains.
remove_chains() {
  local chains chain rule left
  chains=$(tool "$1" -t "$2" -S 2>/dev/null | sed -nE "s/^-N (($3)-[^ ]*)\$/\1/p")
  [ -n "$chains" ] || return 0
  for chain in $chains; do tool "$1" -t "$2" -F "$chain" 2>/dev/null; done
  tool "$1" -t "$2" -S 2>/dev/null | grep -E -- "^-A [^ ]+ .*(-j ($3)-|--comment \"$4)" | sed 's/^-A/-D/' | while read -r rule; do
    eval "tool $1 -t $2 $rule" 2>/dev/null
  done
  for chain in $chains; do tool "$1" -t "$2" -X "$chain" 2>/dev/null; done
  changed "$1 $2"
  left=$(tool "$1" -t "$2" -S 2>/dev/null | sed -nE "s/^-N (($3)-[^ ]*)\$/\1/p" | paste -sd' ')
  [ -z "$left" ] || { echo "chains of ours are left in table $2 of $1: $left" >&2; return 1; }
}
# remove_sets PREFIXES: removes address sets. One that a foreign rule names is in use, and remains: returns 1.
remove_sets() {
  local set left=0
  for set in $(tool ipset list -n 2>/dev/null | grep -E "^(inet6:)?($1)-[A-Z2-7]{16}\$"); do
    if tool ipset destroy "$set"; then changed "set $set"; else left=1; fi
  done
  return $left
}
