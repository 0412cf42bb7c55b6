# Prints a tar with HAProxy and the libraries that it is linked with.
set -eu
root=$(mktemp -d)
mkdir -p $root/usr/local/sbin $root/usr/lib $root/usr/lib64 $root/etc $root/run $root/tmp $root/var
ln -s usr/lib $root/lib
ln -s usr/lib64 $root/lib64
cp /usr/sbin/haproxy $root/usr/local/sbin/haproxy
ldd /usr/sbin/haproxy | grep -o '/[^ ]*' | sort -u | while read -r library; do
  # Libraries are found under both spellings; the copy goes to where the links above lead.
  case $library in /lib/*|/lib64/*) target=/usr$library ;; *) target=$library ;; esac
  mkdir -p "$root$(dirname "$target")"
  cp -L "$library" "$root$target"
done
tar -C $root --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - .
