# Connections to API servers that were open before the balancer was there lead past it for as long as they last, to one that may
# freeze meanwhile: a client learns of that after 45 s. What we installed opens others at once; whoever else has one keeps it, as
# a request that is under way would be lost.
ss -tnpH state established 'dport = :6443' 2>/dev/null |
  awk '$4 !~ /^(127\.|\[::1\])/ && $5 ~ /"(kubelet|kube-proxy|flanneld|kube-router)"/ { print $3, $4 }' |
  while read -r here there; do
    ss -K state established src "$here" dst "$there" > /dev/null 2>&1 && changed "connection to $there closed"
  done || :
