# Makes a container enough of a host for systemd and a kubelet, then becomes init. Runs at each start.
set -u
# The host's own part of each cgroup hierarchy must be writable; without --privileged it is mounted read-only.
for mount in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do
  mount -o remount,bind,rw "$mount" || true
done
# Some kernels give a container no systemd hierarchy under cgroup v1.
if [ ! -f /sys/fs/cgroup/cgroup.controllers ] && ! grep -q ' /sys/fs/cgroup/systemd ' /proc/mounts; then
  mkdir -p /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd || true
fi
mount -o remount,bind,rw /proc/sys 2>/dev/null || true
mount --make-rshared /
# The kubelet reads /dev/kmsg; a link to the console would make every journald spin.
[ -c /dev/kmsg ] || ln -sfn /dev/null /dev/kmsg
# What Docker has mounted there becomes the host's own file, which cloud-init.service writes anew at each start.
if grep -q ' /etc/hosts ' /proc/mounts; then
  cat /etc/hosts > /usr/libexec/lab/hosts && umount /etc/hosts
  grep -q . /etc/hosts 2>/dev/null || cat /usr/libexec/lab/hosts > /etc/hosts
fi
# Docker's name server is on loopback, which is no name server for pods: CoreDNS would ask itself.
if grep -q ' /etc/resolv.conf ' /proc/mounts; then
  umount /etc/resolv.conf
  echo "nameserver $(ip -4 route show default | awk '{ print $3 }')" > /etc/resolv.conf
fi
# One identity a host, made at the first start and kept.
[ -s /etc/machine-id ] || tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id
[ -f /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
exec /sbin/init
