# Reports the key by which this control plane signs tokens, and whether a rotation is unfinished here. Refuses keys in a form
# that a rotation would lose.
nothing='nothing was changed'
[ -s "$pki/sa.pub" ] && [ -s "$pki/sa.key" ] ||
  fail "/etc/kubernetes/pki/sa.key or sa.pub is missing; repair this control plane (operation annotation \"repairing\"); $nothing"
signing=$pki/sa.key
# A rotation that was cut short has replaced only the first of two files.
! cmp -s "$next/sa.key" "$pki/sa.key" || [ "$(signs)" = "$(block 1 "$next/sa.pub")" ] || signing=
if [ -n "$signing" ] && command -v openssl > /dev/null; then
  [ "$(openssl pkey -in "$signing" -pubout 2> /dev/null)" = "$(signs)" ] ||
    fail "the first key in /etc/kubernetes/pki/sa.pub is not that of sa.key; write it first, and ask again; $nothing"
fi
[ ! -e "$encryption" ] || { [ -n "$(encryption_keys)" ] && [ "$(cat "$encryption")" = "$(encryption_config "$(encryption_keys)")" ]; } ||
  fail "/etc/kubernetes/pki/matryoshka/encryption.yaml was changed; Matryoshka replaces keys only in the file that it has made; $nothing"
# An API server that is not rotated would refuse new tokens, and encrypt by the former key.
# One that has ended without a word is listed until its lease ends.
for try in $(seq 30); do
  strange=
  servers=$(kubectl --request-timeout=20s get endpointslices -l kubernetes.io/service-name=kubernetes -o 'jsonpath={.items[*].endpoints[*].addresses[*]}' 2> /dev/null) || fail "the API servers of the cluster cannot be listed; $nothing"
  for address in $servers; do case " $CONTROL_PLANES " in *" $address "*) ;; *) strange=$address ;; esac; done
  [ -n "$strange" ] || break
  sleep 1
done
[ -z "$strange" ] || fail "an API server at $strange is not one of the control planes $CONTROL_PLANES; end it, or finish the operation that adds or removes it; $nothing"
signed=$(signs | sha256sum)
result signs "${signed%% *}"
! is_whole "$next" || result next yes
# The report of an attempt that ended here may have been lost.
[ "$(cat "$ended" 2> /dev/null)" != "$SEQUENCE" ] || result ended yes
