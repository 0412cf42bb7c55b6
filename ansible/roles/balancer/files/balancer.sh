# Runs HAProxy on this host, in front of the API servers. It is unpacked from its image and runs as a separate unit, because
# the kubelet reaches the API servers through it. So it needs neither containerd nor the kubelet.
# The unit has its own user.
umask 022
unit=matryoshka-balancer.service root=$work/balancer folder=/etc/matryoshka/balancer
own dir /etc/matryoshka/balancer file /etc/matryoshka/balancer/ca.crt /etc/matryoshka/balancer/haproxy.cfg \
  file /etc/systemd/system/matryoshka-balancer.service unit matryoshka-balancer.service
mkdir -p $folder || exit 1
before=$(cat $folder/* 2>/dev/null | sha256sum)
# A host that has joined has the CA of the cluster. A joining host gets it in a variable.
if [ -s /etc/kubernetes/pki/ca.crt ]; then authority=$(cat /etc/kubernetes/pki/ca.crt)
else authority=$(printf %s "$CA" | base64 -d); fi
put $folder/ca.crt 644 "$authority"
put $folder/haproxy.cfg 644 "$BALANCER_CONFIG"

restart=
if unpack balancer "$BALANCER_IMAGE"; then restart=yes; fi
# The runtime role may have unpacked it with the images of the host.
[ ! -e "$installed/balancer.running" ] || is_installed balancer.running "$BALANCER_IMAGE" || restart=yes
mkdir -p "$root"/{etc/balancer,proc,sys,dev,run,tmp,var/tmp} || exit 1
put /etc/systemd/system/$unit 644 "[Unit]
Description=HAProxy in front of the API servers of the cluster
Documentation=https://docs.haproxy.org/
After=network.target
StartLimitIntervalSec=0

[Service]
RootDirectory=$root
BindReadOnlyPaths=$folder:/etc/balancer
ExecStart=/usr/local/sbin/haproxy -W -db -f /etc/balancer/haproxy.cfg
DynamicUser=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
LimitNOFILE=16384
Restart=always
RestartSec=1
OOMScoreAdjust=-998

[Install]
WantedBy=multi-user.target" && restart=yes
if [ -n "$restart" ] || ! systemctl is-active -q $unit; then
  enable_unit $unit; systemctl restart $unit || fail "the balancer does not start: $(journalctl -u $unit -n 5 --no-pager -o cat)"
  changed $unit
elif [ "$before" != "$(cat $folder/* | sha256sum)" ]; then
  # Existing connections stay with the old process until they end.
  systemctl kill -s USR2 --kill-who=main $unit || fail 'the balancer does not take its new configuration'
  changed 'configuration of the balancer'
fi
mark balancer.running "$BALANCER_IMAGE"
for try in $(seq 50); do
  curl -sk -m 2 -o /dev/null "https://$BALANCER_ADDRESS/readyz" && exit 0
  sleep 0.2
done
fail "no API server answers through the balancer: $(journalctl -u $unit -n 3 --no-pager -o cat)"
