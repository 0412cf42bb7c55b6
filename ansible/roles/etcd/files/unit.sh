# Runs an external etcd member as a unit that needs neither containerd nor a kubelet.
umask 077
unit=matryoshka-etcd.service folder=/etc/matryoshka/etcd data=/var/lib/etcd bin=$work/etcd/usr/local/bin
own tree $folder $data unit $unit file /etc/systemd/system/$unit
mkdir -p $folder $data || exit 1
untar_into $folder "$PKI"
client() { echo "https://$(in_url "$1"):2379"; }

start() { # INITIAL-CLUSTER STATE
  local flags='--watch-progress-notify-interval=5s --feature-gates=InitialCorruptCheck=true' loopback
  # Before etcd 3.6 these flags were experimental.
  "$bin/etcd" --help 2>&1 | grep -q -- '--feature-gates' ||
    flags='--experimental-watch-progress-notify-interval=5s --experimental-initial-corrupt-check=true'
  case $IP in *:*) loopback=::1 ;; *) loopback=127.0.0.1 ;; esac
  put /etc/systemd/system/$unit 644 "[Unit]
Description=etcd of the cluster
Documentation=https://etcd.io/docs/
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=$bin/etcd --name=$NAME --data-dir=$data \\
  --listen-client-urls=$(client "$loopback"),$(client "$IP") --advertise-client-urls=$(client "$IP") \\
  --listen-peer-urls=$(peer "$IP") --initial-advertise-peer-urls=$(peer "$IP") \\
  --initial-cluster=$1 --initial-cluster-state=$2 --initial-cluster-token=$TOKEN \\
  --client-cert-auth=true --trusted-ca-file=$folder/ca.crt --cert-file=$folder/server.crt --key-file=$folder/server.key \\
  --peer-client-cert-auth=true --peer-trusted-ca-file=$folder/ca.crt --peer-cert-file=$folder/peer.crt --peer-key-file=$folder/peer.key \\
  --listen-metrics-urls=http://127.0.0.1:2381 --snapshot-count=10000 $flags
Restart=always
RestartSec=1
LimitNOFILE=65536
OOMScoreAdjust=-997
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=$data
ProtectHome=yes
PrivateTmp=yes

[Install]
WantedBy=multi-user.target"
  enable_unit $unit
  systemctl restart $unit || fail "etcd does not start: $(journalctl -u $unit -n 5 --no-pager -o cat)"
  changed $unit
}

settle() { settle_unit /etc/systemd/system/$unit && systemctl daemon-reload; }

if [ -n "$ANEW$RESTORED" ]; then
  cluster=existing
  if [ -n "$ANEW" ]; then
    systemctl stop $unit 2>/dev/null
    find $data -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf --one-file-system {} +
    cluster=new
  fi
  start "$INITIAL_CLUSTER" $cluster
  for try in $(seq 120); do answers "$IP" && { settle; did joined; exit 0; }; sleep 0.5; done
  fail "the members of the ${RESTORED:+restored }${ANEW:+new }etcd do not agree: $(journalctl -u $unit -n 3 --no-pager -o cat)"
fi
enter $data
if [ -n "$initial" ]; then start "$initial" existing
elif ! systemctl is-active -q $unit; then systemctl start $unit && changed $unit; fi
promote
settle
did joined
