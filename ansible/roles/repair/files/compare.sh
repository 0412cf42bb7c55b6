# What differs on this host from what was made: the list, the scripts of roles that make some of it again, and what nobody
# can make again, because of which this host is left as it is.
# Without a seal nobody knows what was made, and one that is taken now would be of what somebody has made of it.
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
# A host of an earlier version has the lines, and nothing that keeps them.
if is_made line /etc/hosts && ! is_made unit matryoshka-endpoint.service; then scripts="$scripts host/keep-endpoint.sh" older=yes; fi
result differs "$(base64 -w0 <<< "$list")"
result scripts "$scripts"
[ -z "$beyond" ] || { result leaves yes; enough; }
[ -z "$made" ] || result made yes
{ [ -z "$list$older" ] && [ ! -s "$pending" ]; } || result repairs yes
