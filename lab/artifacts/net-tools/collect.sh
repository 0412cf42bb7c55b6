# Prints a tar with the tools, their libraries and the links by which they are called.
set -eu
root=$(mktemp -d)
mkdir -p $root/usr/sbin $root/usr/bin $root/usr/lib $root/usr/lib64 $root/etc $root/run $root/tmp $root/var
ln -s usr/lib $root/lib
ln -s usr/lib64 $root/lib64
ln -s usr/sbin $root/sbin
ln -s usr/bin $root/bin
tools="/usr/bin/dash /usr/bin/cp /usr/bin/sleep /usr/sbin/nft /usr/sbin/xtables-nft-multi /usr/sbin/xtables-legacy-multi /usr/sbin/conntrack /usr/sbin/ipset /usr/bin/kmod /usr/bin/ip"
for tool in $tools; do
  tool=$(readlink -f "$(command -v "$(basename "$tool")" || echo "$tool")")
  mkdir -p "$root$(dirname "$tool")"
  cp "$tool" "$root$tool"
done
libraries="$(ls /usr/lib/x86_64-linux-gnu/xtables/*.so)"
for file in $tools $libraries; do
  ldd "$(readlink -f "$(command -v "$(basename "$file")" || echo "$file")")" | grep -o '/[^ ]*' || true
done | sort -u | while read -r library; do
  # Libraries are found under both spellings; the copy goes to where the links above lead.
  case $library in /lib/*|/lib64/*) target=/usr$library ;; *) target=$library ;; esac
  mkdir -p "$root$(dirname "$target")"
  cp -L "$library" "$root$target"
done
mkdir -p $root/usr/lib/x86_64-linux-gnu/xtables
cp $libraries $root/usr/lib/x86_64-linux-gnu/xtables/
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
  ln -s xtables-nft-multi "$root/usr/sbin/$name"
done
# Without names of protocols nft prints their numbers. kube-proxy then takes none of its own rules for what it wants, and
# once an hour, when it compares them all, removes every Service.
cp /etc/protocols "$root/etc/"
ln -s dash "$root/usr/bin/sh"
ln -s ../bin/kmod "$root/usr/sbin/modprobe"
tar -C $root --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - .
