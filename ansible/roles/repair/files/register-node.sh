# Restarts the kubelet, so that it registers its node again. The node gets another range of pod addresses. So the bridge and
# flannel's file of the former range go first, or pods would get its addresses.
systemctl stop kubelet
rm -f "$R/run/flannel/subnet.env"
! is_made link cni0 || ! ip link show cni0 > /dev/null 2>&1 || ip link delete cni0 || fail 'the bridge of the pods, cni0, cannot be removed'
systemctl start kubelet || fail "kubelet does not start: $(journalctl -u kubelet -n 5 --no-pager -o cat)"
changed 'kubelet.service: restart, to register its node anew'
