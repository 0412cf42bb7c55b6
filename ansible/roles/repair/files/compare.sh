# Prints what differs from the baseline on this host, and the scripts of roles that make some of it again. If no script can
# restore a thing, it prints that too, and the host is left unchanged.
# Without a baseline nothing says what was made here, and a new one would accept changes by users.
[ -e "$R/etc/matryoshka/joined" ] && [ -e "$seal" ] || enough
list=$(differing) || fail 'the differences from the baseline are unknown'
scripts= beyond= made= older=
while IFS=$'\t' read -r kind thing how; do
  [ -n "$kind" ] || continue
  does=$(remedy "$kind" "$thing" "$how" "$list")
  case $does in
    none) beyond=yes ;;
    copy) [ "$thing" != /etc/matryoshka/made ] || made=yes ;;
    hosts) scripts="$scripts host/endpoint.sh host/keep-endpoint.sh" ;;
    */*) scripts="$scripts $does" ;;
  esac
done <<< "$list"
# A host of an earlier version has the lines, but no unit that keeps them.
if is_made line /etc/hosts && ! is_made unit matryoshka-endpoint.service; then scripts="$scripts host/keep-endpoint.sh" older=yes; fi
result differs "$(base64 -w0 <<< "$list")"
result scripts "$scripts"
[ -z "$beyond" ] || { result leaves yes; enough; }
[ -z "$made" ] || result made yes
{ [ -z "$list$older" ] && [ ! -s "$pending" ]; } || result repairs yes
