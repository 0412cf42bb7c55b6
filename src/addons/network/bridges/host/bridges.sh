# Bridges of Networks on this host. Stands behind prelude.sh and variables: VERB is one of those at the end, RUN the fence's
# run, whose first word is the owner; BRIDGE, ID, CIDR and ADDRESS (gateway/prefix) say what bridge.
# Ours is a bridge or table that the manifest lists; the bridge's alias must be empty, or `matryoshka:` and the Network's uid.
# Everything else is somebody's, whatever its name is.
ROLE=network
owner=${RUN%% *} sums=$state/network

is_there() { ip link show dev "$1" > /dev/null 2>&1; }
alias_of() { ip link show dev "$1" 2>/dev/null | sed -n 's/^ *alias //p'; }
has_table() { nft list table ip "$1" > /dev/null 2>&1; }
sum_of() { nft list table ip "$1" 2>/dev/null | sha256sum; }
addresses_of() { ip -o -4 addr show dev "$1" 2>/dev/null | awk '{ print $4 }'; }
made_links() { made_of link; }
# Links of the host that have an IPv4 address.
links() {
  local link
  ip -o -4 addr show | awk '{ print $2 }' | sort -u | while read -r link; do [ "$link" = lo ] || is_ours "$link" || echo "$link"; done
}
# The kernel forwards a packet if the link that it came in by forwards.
forwards() { [ "$(cat "/proc/sys/net/ipv4/conf/$1/forwarding" 2>/dev/null)" = 1 ]; }
is_router() { forwards all; }
all_forward() {
  local link
  is_router || for link in $(links); do forwards "$link" || return 1; done
}
# Links that forward because of us.
turned_on() { made_of sysctl | sed -n 's|^net/ipv4/conf/\(.*\)/forwarding=0$|\1|p' | sort -u; }
# The links between which nothing may pass; none where the host is a router for others too.
confined() { is_router || turned_on | paste -sd, -; }
state_of() { printf '%s\n%s' "$(sum_of "$1")" "$(confined)"; }
is_ours() {
  is_made link "$1" && ip -o link show dev "$1" type bridge 2>/dev/null | grep -q . || return 1
  case $(alias_of "$1") in '' | matryoshka:*) ;; *) return 1 ;; esac
}
only_ours() {
  local by; by=$(made_by)
  [ -z "$by" ] || [ "$by" = "$owner" ] || { echo "HostConflict: $manifest lists what cluster $by has made here" >&2; exit 81; }
}
free() { # name id
  ! is_there "$1" || { is_ours "$1" && case $(alias_of "$1") in '' | "matryoshka:$2") true ;; *) false ;; esac; } ||
    { echo "link $1 is there, and was not made for this Network; remove it if it is not needed" >&2; exit 87; }
  ! has_table "$1" || is_made table "ip $1" ||
    { echo "table ip $1 is there, and was not made for this Network; remove it if it is not needed" >&2; exit 87; }
}

# A line for each bridge that the manifest lists, whether it is there or not, and for each address and route of somebody's
# and each address from which somebody works here.
look() {
  local bridge whole to link address
  for bridge in $(made_links); do
    whole=no
    is_ours "$bridge" && [ -n "$(alias_of "$bridge")" ] && ip -o link show dev "$bridge" | grep -q '[<,]UP[,>]' &&
      forwards "$bridge" && all_forward && [ "$(cat "$sums/$bridge" 2>/dev/null)" = "$(state_of "$bridge")" ] && whole=yes
    printf 'bridge\t%s\t%s\t%s\n' "$bridge" "$(addresses_of "$bridge" | paste -sd, -)" "$whole"
  done
  ip -o -4 addr show | while read -r _ link _ address _; do is_ours "$link" || printf 'foreign\t%s\t%s\n' "$link" "$address"; done
  # A route may begin with its type, as in "blackhole 10.0.0.0/8".
  ip -o -4 route show | awk '{ to = $1 ~ /^[a-z]+$/ && $1 != "default" ? $2 : $1; dev = "-"; for (i = 1; i < NF; i++) if ($i == "dev") dev = $(i + 1); if (to != "default") print to, dev }' |
    while read -r to link; do is_ours "$link" || printf 'foreign\t%s\t%s\n' "$link" "$to"; done
  visitors
}

# Who works on this host by SSH, over whatever way but a bridge of ours: replies to such an address must not go into a bridge.
visitors() {
  local peer dev
  ss -Htnp state established | awk '$3 ~ /:22$/ || /\(\("(sshd|dropbear)/ { sub(/:[0-9]+$/, "", $4); gsub(/[][]|::ffff:/, "", $4); if ($4 ~ /^[0-9.]+$/) print $4 }' | sort -u |
    while read -r peer; do
      dev=$(ip -o -4 route get "$peer" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
      is_ours "$dev" || printf 'foreign\t%s\t%s\n' 'an SSH session' "$peer"
    done
}

# Makes the bridge, or what of it is missing or another. Ports that somebody has put into it stay.
put_bridge() {
  only_ours; free "$BRIDGE" "$ID"
  local address link only uplinks; uplinks=$(links)
  [ -n "$(made_by)" ] || write_file "$manifest" 644 "cluster $owner"$'\n' || exit 1
  is_router || for link in $uplinks; do forwards "$link" || own sysctl "net/ipv4/conf/$link/forwarding=0"; done
  own link "$BRIDGE" table "ip $BRIDGE"
  is_there "$BRIDGE" || ip link add name "$BRIDGE" type bridge || exit 1
  [ -n "$(alias_of "$BRIDGE")" ] || ip link set dev "$BRIDGE" alias "matryoshka:$ID" || exit 1
  for address in $(addresses_of "$BRIDGE"); do
    # It may have gone with another of its network, whose second it was.
    [ "$address" = "$ADDRESS" ] || ip addr del "$address" dev "$BRIDGE" 2>/dev/null || ! addresses_of "$BRIDGE" | grep -qxF "$address" || exit 1
  done
  addresses_of "$BRIDGE" | grep -qxF "$ADDRESS" || ip addr add "$ADDRESS" dev "$BRIDGE" || exit 1
  ip link set dev "$BRIDGE" up || exit 1
  only=$(confined)
  # One transaction: at no moment are there no rules.
  nft -f - <<RULES || exit 1
table ip $BRIDGE
delete table ip $BRIDGE
table ip $BRIDGE {
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr $CIDR oifname != "$BRIDGE" masquerade
  }
  ${only:+chain forward {
    type filter hook forward priority 0; policy accept;
    iifname { \"${only//,/\", \"}\" \} oifname { \"${only//,/\", \"}\" \} drop
  \}}
}
RULES
  # After the rules: at no moment is the host a router between its own networks.
  is_router || for link in $BRIDGE $uplinks; do forwards "$link" || echo 1 > "/proc/sys/net/ipv4/conf/$link/forwarding" || exit 1; done
  write_file "$sums/$BRIDGE" 600 "$(state_of "$BRIDGE")" || exit 1
}

restore_all() {
  made_of sysctl | tac | while read -r value; do restore_sysctl "$value" || exit 1; done || exit 1
}

remove_bridge() {
  only_ours
  # Before the last table goes, whose rule keeps the host from being a router.
  [ "$(made_links)" != "$BRIDGE" ] || restore_all
  ! is_ours "$BRIDGE" || ip link delete dev "$BRIDGE" || exit 1
  ! is_made table "ip $BRIDGE" || ! has_table "$BRIDGE" || nft delete table ip "$BRIDGE" || exit 1
  rm -f "$sums/$BRIDGE"
  [ ! -e "$manifest" ] || write_file "$manifest" 644 "$(made_lines | grep -vxF -e "$ROLE link $BRIDGE" -e "$ROLE table ip $BRIDGE")"$'\n' || exit 1
}

# Where nothing of ours is left the host is anybody's again. The fence goes last.
leave() {
  only_ours
  [ -z "$(made_links)" ] || exit 0
  restore_all
  rm -f "$manifest"
  # shellcheck disable=SC2086
  "$R/usr/local/sbin/matryoshka-fence" release $RUN > /dev/null || exit 1
  rm -f "$R/usr/local/sbin/matryoshka-fence"
  rm -rf "$state"
}

case $VERB in look) look ;; put) put_bridge ;; remove) remove_bridge ;; leave) leave ;; *) fail "no such verb: $VERB" ;; esac
