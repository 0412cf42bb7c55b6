# Restores what differs to its state in the baseline. It starts nothing for that: start.sh does so later.
serves() { if [ -n "$IS_MASTER" ]; then healthy; else member_serves; fi; }
[ -z "$ONLY_DEAD" ] || ! serves || enough
list=$(base64 -d <<< "$DIFFERS")

# Deletes the mark by which a role knows that it has nothing to install.
forget() { # PATH
  case $1 in
    */bin/kubelet | */bin/kubeadm | */bin/kubectl | */bin/runc) rm -f "$installed/${1##*/}" ;;
    */bin/containerd* | */bin/ctr) rm -f "$installed/containerd" ;;
    /opt/cni/bin/*) rm -f "$installed"/{cni-plugins,flannel-cni-plugin} ;;
    */balancer/*) rm -f "$installed/balancer" ;;
    /var/lib/matryoshka/etcd/*) rm -f "$installed/etcd" ;;
  esac
}
# Keeps a user's change of our unit on the host, under a name that systemd ignores.
set_aside() { # UNIT PATH
  case $2 in /etc/systemd/*/"$1".d/*.conf | /run/systemd/*/"$1".d/*.conf) ;; *) return 0 ;; esac
  local to=$2.set-aside
  while [ -e "$R$to" ] || [ -L "$R$to" ]; do to=$to~; done
  mv -T "$R$2" "$R$to" && changed "$2 is set aside as $to"
}

while IFS=$'\t' read -r kind thing how; do
  [ -n "$kind" ] || continue
  does=$(remedy "$kind" "$thing" "$how" "$list")
  # The note is written before the thing is touched.
  case $does in copy | issue | */*) while read -r user; do note "$user"; done < <(users_of "$thing") ;; esac
  case $does in
    mode) as_sealed "$thing" "$R$thing" && changed "mode and owner of $thing are as they were made" ;;
    # The kubelet ends a pod whose manifest is gone. start.sh waits for that before it restores the manifest.
    copy) is_static_pod "$thing" || put_copy "$thing" ;;
    */*) forget "$thing" ;;
    sysctl)
      value=$(awk -F'\t' -v name="$thing" '$1 == "sysctl" && $2 == name { print $3 }' "$seal")
      said=; [ -e "$R/proc/sys/${thing//.//}" ] || said=$(modprobe -a overlay br_netfilter 2>&1)
      printf '%s\n' "$value" > "$R/proc/sys/${thing//.//}" || fail "$thing cannot be set to $value${said:+: $said}"
      changed "$thing is $value" ;;
    swap) swapoff -a || fail 'swap cannot be turned off'; changed 'swap is off; take it out of /etc/fstab, or a start turns it on' ;;
    unit)
      unit=${thing%.service}
      while read -r path; do [ -z "$path" ] || { note "unit $unit"; set_aside "$thing" "$path"; }; done \
        < <(grep -o 'changed by [^,]*' <<< "$how" | sed 's/^changed by //')
      case $how in *masked*) systemctl unmask -q "$thing"; systemctl unmask -q --runtime "$thing"; changed "$thing is not masked" ;; esac
      case $how in *'runs by'*) note "unit $unit" ;; esac ;;
  esac
done < <(in_order "$list")
