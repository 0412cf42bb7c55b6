# Replaces the certificates of the external etcd member on this host. etcd reads them at each connection.
take_up || exit 1
folder=/etc/matryoshka/etcd
served=
! answers "$IP" || served=yes
begin_exchange $folder/{server,peer}.{crt,key}
( untar_into "$R$folder" "$PKI" ) || { take_up; exit 1; }
sync -f "$R$folder"
drop_exchanged
changed "certificates of the member at $IP"
did changed
# A member without a quorum gets one when the other members are renewed.
[ -n "$served" ] || exit 0
for try in $(seq 120); do answers "$IP" && exit 0; sleep 0.5; done
fail 'the etcd member on this host does not answer with its new certificates'
