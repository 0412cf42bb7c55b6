# Reports what the kubelet of this host needs: a client certificate, or a restart for its serving certificate. SOON: whether
# certificates that end soon count.
[ -z "$SOON" ] || ! serving_ends_soon || result serving yes
[ -s "$R$certificate" ] || { result refused yes; exit 0; }
# The balancer of this host may need some seconds to find renewed API servers.
for try in $(seq 60); do
  code=$(kubelet_code)
  case $code in
    200 | 404)
      [ -n "$SOON" ] || exit 0
      if command -v openssl > /dev/null && ends_soon "$certificate"; then result refused yes; else did changed; fi
      exit 0 ;;
    401) result refused yes; exit 0 ;;
  esac
  sleep 1
done
fail "no API server answers the kubelet of this host (HTTP status $code); see /etc/kubernetes/kubelet.conf and unit matryoshka-balancer"
