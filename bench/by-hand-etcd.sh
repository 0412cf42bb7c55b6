# Runs on an external etcd host, called by by-hand.sh with base, files, name, ip, initial and the member's certificates set.
# It runs etcd's own program from its image as a unit (etcd.io, Clustering Guide, Static).
set -eu
umask 077
mkdir -p /var/lib/by-hand /etc/etcd /var/lib/etcd
cd /var/lib/by-hand
echo "$ca" > /etc/etcd/ca.crt; echo "$cert" > /etc/etcd/member.crt; echo "$key" > /etc/etcd/member.key
read -r _ path sum _ <<< "$(grep '^etcd ' <<< "$files")"
curl -fsS --retry 3 --connect-timeout 10 --max-time 300 -o etcd.tar "$base/$path"
echo "$sum  etcd.tar" | sha256sum --check --status || { echo "$path does not have the sum $sum" >&2; exit 1; }
for layer in $(tar -tf etcd.tar | grep '/layer\.tar$'); do
  tar -xOf etcd.tar "$layer" | tar -x --wildcards --no-anchored 'usr/local/bin/etcd' --no-same-owner 2> /dev/null || true
done
mv usr/local/bin/etcd /usr/local/bin/etcd
rm -rf etcd.tar usr
cat > /etc/systemd/system/etcd.service <<U
[Unit]
After=network.target
[Service]
Type=notify
Restart=always
OOMScoreAdjust=-999
ExecStart=/usr/local/bin/etcd --name=$name --data-dir=/var/lib/etcd --initial-cluster-state=new --initial-cluster=$initial \\
  --listen-client-urls=https://$ip:2379 --advertise-client-urls=https://$ip:2379 \\
  --listen-peer-urls=https://$ip:2380 --initial-advertise-peer-urls=https://$ip:2380 \\
  --cert-file=/etc/etcd/member.crt --key-file=/etc/etcd/member.key --trusted-ca-file=/etc/etcd/ca.crt --client-cert-auth \\
  --peer-cert-file=/etc/etcd/member.crt --peer-key-file=/etc/etcd/member.key --peer-trusted-ca-file=/etc/etcd/ca.crt --peer-client-cert-auth
[Install]
WantedBy=multi-user.target
U
systemctl daemon-reload
# Returns once the members have connected.
systemctl enable -q --now etcd
