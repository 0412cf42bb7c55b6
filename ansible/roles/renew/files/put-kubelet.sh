# Gives the kubelet of this host its new certificates.
umask 077
if [ -n "$PAIR" ]; then
  pair=$(base64 -d <<< "$PAIR") || fail 'the certificate of the kubelet is no base64'
  put_kubelet "$pair"
else
  restart_kubelet
fi
for try in $(seq 60); do
  code=$(kubelet_code)
  case $code in 200 | 404) did changed; exit 0 ;; esac
  sleep 1
done
fail "the API server does not accept the certificate of this host's kubelet (HTTP status $code)"
