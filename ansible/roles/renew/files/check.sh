# Refuses a renewal if the authorities on this control plane cannot issue certificates. Nothing was changed before.
pki=/etc/kubernetes/pki
for authority in ca front-proxy-ca etcd/ca; do
  for file in $authority.crt $authority.key; do
    [ -s "$R$pki/$file" ] ||
      fail "$pki/$file is missing, so this control plane cannot issue certificates; copy it from another control plane, or replace this host, and ask again; nothing was changed"
  done
  ! command -v openssl > /dev/null || openssl x509 -noout -checkend 0 -in "$R$pki/$authority.crt" > /dev/null ||
    fail "the authority $pki/$authority.crt has expired, so no certificate that it issues is valid, and Matryoshka cannot renew authorities yet; create a new cluster; nothing was changed"
done
