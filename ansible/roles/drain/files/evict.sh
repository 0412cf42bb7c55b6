# Empties nodes as `kubectl drain` does. LEAVING: a line `HOST NODE reached|unreached` for each; UNDONE: what a failure leaves
# undone, for messages. No pod is evicted if kubectl would refuse one of them.

# ask ARGUMENT…: prints the answer of kubectl. It tries again, so that one failed connection decides nothing.
ask() {
  local try out said=$notes/said.$BASHPID
  for try in 1 2 3 4 5; do
    out=$(kubectl --request-timeout=15s "$@" 2> "$said") && { printf '%s' "$out"; return 0; }
    [ "$try" = 5 ] || sleep 1
  done
  tail -1 "$said" >&2
  return 1
}

OURS=ecs.yun.com/cordoned
# begin_evicting: finds out which nodes belong to their hosts. Lists the others in `elsewhere`: `HOST NODE ADDRESS`.
begin_evicting() {
  local nodes host node how found
  notes=$(mktemp -d) || exit 1
  trap 'rm -rf "$notes"' EXIT
  options=(--request-timeout=30s --ignore-daemonsets)
  [ "$DRAIN_FORCE" != true ] || options+=(--force)
  [ "$DRAIN_DELETE_EMPTYDIR_DATA" != true ] || options+=(--delete-emptydir-data)
  # A name may move to another host between two attempts. A Node belongs to this host only if it has its address.
  nodes=$(ask get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}') ||
    fail "the nodes of the cluster cannot be listed; $UNDONE"
  own= elsewhere= present=' '
  while read -r host node how; do
    [ -n "$host" ] || continue
    found=$(awk -v node="$node" '$1 == node' <<< "$nodes")
    case "$found " in
      ' ') own="$own$host $node $how"$'\n' ;;
      *" $host "*) own="$own$host $node $how"$'\n' present="$present$node " ;;
      *) elsewhere="$elsewhere$host $node ${found#* }"$'\n' ;;
    esac
  done <<< "$LEAVING"
}

side_by_side() { # FUNCTION: for each host that leaves; answers 1 when one failed
  local pids= pid failed=0
  while read -r host node how; do
    [ -n "$host" ] || continue
    ( "$1" "$host" "$node" "$how" ) & pids="$pids $!"
  done <<< "$own"
  for pid in $pids; do wait "$pid" || failed=1; done
  return $failed
}

# Notes a reason that holds a node: NODE, PODS or nothing, REASON, separated by tabs.
hold() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >> "$notes/held.$1"; }

# Only the cluster knows that a node is away: a controller sets Ready to Unknown after the kubelet stops renewing its Lease.
# SSH does not show it, because sshd may fail on a host whose pods run. If SSH reaches the host, the reset ends its pods.
is_away() { # NODE reached|unreached
  local ready
  [ "$2" = unreached ] && ready=$(ask get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') && [ "$ready" = Unknown ]
}
is_present() { [ -z "${present##* $1 *}" ]; }

# Names kubectl's flags together with the fields of spec.cluster.drain that set them.
with_fields() {
  local text=${1//use --force to override/set spec.cluster.drain.force to true to delete them}
  echo "${text//use --delete-emptydir-data to override/set spec.cluster.drain.deleteEmptyDirData to true to delete their data}"
}
# Prints why kubectl failed: every refusal on its own line, or the last line.
refusals_in() { sed -n 's/^\(error: \)\{0,1\}\(cannot delete .*\)/\2/p' <<< "$1" | sort -u; } # OUTPUT
reason_in() { # OUTPUT
  local why; why=$(refusals_in "$1" | head -1)
  with_fields "${why:-$(sed '/^$/d; s/^error: //' <<< "$1" | tail -1)}"
}

# Finds out what kubectl would refuse to delete, before any pod is evicted.
check() { # HOST NODE reached|unreached
  local try out refusals refusal
  is_present "$2" && ! is_away "$2" "$3" || return 0
  for try in 1 2 3 4 5; do
    out=$(kubectl drain "$2" "${options[@]}" --dry-run=client 2>&1) && return 0
    case $out in *'cannot delete '*) break ;; esac
    [ "$try" = 5 ] || sleep 1
  done
  refusals=$(refusals_in "$out")
  while read -r refusal; do hold "$2" '' "$(with_fields "$refusal")"; done <<< "${refusals:-$(reason_in "$out")}"
}

# Prints the API's last message on the eviction of a pod, from the output of kubectl. Without a message it prints nothing.
said_of() { # NAMESPACE POD OUTPUT
  local text=$3 said pod="/\"$2\" -n \"$1\""
  while [[ $text == *"$pod"* ]]; do
    said=${text##*"$pod"} text=${text%"$pod"*}
    said=${said#*: } said=${said%%$'\n'*} said=${said%%, error when evicting*} said=${said%%], continuing*}
    case $said in 'global timeout reached'*) ;; *) printf '%s' "$said"; return ;; esac
  done
}

budgets() { # NAMESPACE: names of its PodDisruptionBudgets that let no pod go
  ask -n "$1" get poddisruptionbudgets -o 'jsonpath={range .items[?(@.status.disruptionsAllowed==0)]}{.metadata.name}{" "}{end}' 2> /dev/null | sed 's/ $//; s/ /, /g'
}

empty() { # HOST NODE reached|unreached
  local begun=$SECONDS rest=$DRAIN_SECONDS try out cordoned pods namespace pod phase ending owner mirror said ends=
  is_present "$2" && ! is_away "$2" "$3" || return 0
  # A node that a user has cordoned stays cordoned. A node that an interrupted attempt of ours has cordoned does not.
  cordoned=$(ask get node "$2" -o 'jsonpath={.spec.unschedulable}' 2>&1) || { hold "$2" '' "$cordoned"; return; }
  [ "$cordoned" = true ] || said=$(ask annotate node "$2" "$OURS=yes" --overwrite 2>&1) || { hold "$2" '' "$said"; return; }
  # kubectl retries an eviction if a budget or a webhook answers 429, and gives up at any other answer.
  for try in 1 2 3 4 5; do
    out=$(kubectl drain "$2" "${options[@]}" --timeout="${rest}s" 2>&1) && return 0
    rest=$((begun + DRAIN_SECONDS - SECONDS - 2))
    [ "$rest" -gt 0 ] && [ "$try" != 5 ] || break
    sleep 2
  done
  # The host may have died during the drain. Then only the removal of the node ends its pods.
  ! is_away "$2" "$3" || return 0
  cordoned=$(ask get node "$2" -o 'jsonpath={.spec.unschedulable}' 2>&1) && [ "$cordoned" = true ] ||
    { hold "$2" '' "it cannot be cordoned: $(reason_in "$out")"; return; }
  pods=$(ask get pods -A --field-selector "spec.nodeName=$2" -o 'jsonpath={range .items[*]}{.metadata.namespace}|{.metadata.name}|{.status.phase}|{.metadata.deletionTimestamp}|{.metadata.ownerReferences[?(@.controller==true)].kind}|{.metadata.annotations.kubernetes\.io/config\.mirror}{"\n"}{end}' 2>&1) ||
    { hold "$2" '' "its pods cannot be listed: $pods"; return; }
  while IFS='|' read -r namespace pod phase ending owner mirror; do
    [ -n "$pod" ] && [ -z "$mirror" ] && [ "$owner" != DaemonSet ] || continue
    case $phase in Succeeded | Failed) continue ;; esac
    [ -z "$ending" ] || { ends="$ends$namespace/$pod "; continue; }
    said=$(said_of "$namespace" "$pod" "$out")
    case $said in *'disruption budget'*) said="$said (held by disruption budget $(budgets "$namespace"))" ;; esac
    hold "$2" "$namespace/$pod" "${said:-$(reason_in "$out")}"
  done <<< "$pods"
  # A reset ends pods that have not ended in time. A host that SSH does not reach keeps running them, unless it is dead. The
  # cluster finds that within a minute.
  if [ "$3" = unreached ] && [ -n "$ends" ]; then
    until [ -e "$notes/held.$2" ] || [ $((SECONDS - begun)) -ge "${FOUND_AWAY_WITHIN:-75}" ]; do
      ! is_away "$2" "$3" || return 0
      sleep 2
    done
    for pod in $ends; do hold "$2" "$pod" "is told to end and still runs after $DRAIN_SECONDS s, and SSH does not reach its host to end it"; done
  fi
  [ -e "$notes/held.$2" ] || echo "$2 was not drained within $DRAIN_SECONDS s, and only pods that are terminating are left: $(reason_in "$out")"
}

# Prints the reasons, with pods of a node that share a reason together, up to the length of a message.
what_holds() {
  cat "$notes"/held.* | awk -F '\t' '
    { key = $1 "\t" $3; if (!(key in pods)) order[++n] = key
      if ($2 != "" && ++count[key] <= 10) pods[key] = pods[key] (count[key] > 1 ? ", " : "") $2 }
    END {
      for (i = 1; i <= n && i <= 5; i++) {
        split(order[i], part, "\t"); key = order[i]
        more = count[key] > 10 ? " and " count[key] - 10 " more" : ""
        printf("%s%s %s: %s", (i > 1 ? "; " : ""), (count[key] ? pods[key] more " on" : "node"), part[1], substr(part[2], 1, 400))
      }
      if (n > 5) printf "; and %d more reasons", n - 5
    }'
}

# If anything holds a node, uncordons the nodes that we cordoned and ends the script.
unless_held() {
  local node mine still=
  ls "$notes"/held.* > /dev/null 2>&1 || return 0
  for node in $present; do
    mine=$(ask get node "$node" -o "jsonpath={.metadata.annotations['${OURS//./\\.}']}") || { still="$still $node"; continue; }
    [ "$mine" = yes ] || continue
    ask uncordon "$node" > /dev/null && ask annotate node "$node" "$OURS-" > /dev/null || still="$still $node"
  done
  fail "pods cannot be evicted, and $UNDONE: $(what_holds)${still:+; still cordoned:$still (kubectl uncordon)}; give the pods another node, change what holds them or delete them, then ask again"
}

# evict: drains all of these nodes, or none of them. `begin_evicting` comes before it.
evict() {
  side_by_side check
  unless_held
  side_by_side empty
  unless_held
}
