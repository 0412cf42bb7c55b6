# Reports whether the node is Ready.
[ "$(kubectl --request-timeout=20s get node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" != True ] || result ready yes
