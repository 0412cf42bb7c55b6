# Waits until each node runs the pod network that was applied.
# A count of zero is left out.
counts() { kubectl --request-timeout=15s -n kube-flannel get daemonset kube-flannel-ds -o 'jsonpath={.metadata.generation}/{.status.observedGeneration}/{.status.desiredNumberScheduled}/{.status.updatedNumberScheduled}/{.status.numberAvailable}' 2> /dev/null; }
is_everywhere() {
  local generation observed wanted updated available
  IFS=/ read -r generation observed wanted updated available <<< "$(counts)"
  [ -n "$generation" ] && [ "$generation" = "$observed" ] && [ "$wanted" = "$updated" ] && [ "$wanted" = "$available" ]
}
for try in $(seq "$WAIT_SECONDS"); do is_everywhere && break; sleep 1; done
is_everywhere || {
  late=$(kubectl --request-timeout=15s -n kube-flannel get pods -o 'jsonpath={range .items[*]}{.spec.nodeName} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2> /dev/null | awk '$2 != "True" { print $1 }' | paste -sd' ')
  fail "the pod network does not become ready within $WAIT_SECONDS s${late:+ on $late}; see the pods in namespace kube-flannel, then retry"
}
