# Has the kubelet register its node anew, which it does when it starts. The node gets another range of addresses for pods, so
# the bridge and what flannel has written of the former one go first, or pods would get addresses of that.
systemctl stop kubelet
rm -f "$R/run/flannel/subnet.env"
! is_made link cni0 || ! ip link show cni0 > /dev/null 2>&1 || ip link delete cni0 || fail 'the bridge of the pods, cni0, cannot be removed'
systemctl start kubelet || fail "kubelet does not start: $(journalctl -u kubelet -n 5 --no-pager -o cat)"
changed 'kubelet.service: restart, to register its node anew'
