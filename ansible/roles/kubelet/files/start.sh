# Enables the kubelet once all that it needs is installed, and starts it if the host has joined already.
if ! systemctl is-enabled -q kubelet 2>/dev/null; then
  enable_unit kubelet.service; changed kubelet.service
fi
if [ -e /etc/matryoshka/joined ]; then
  result joined "$(joined_cluster)"
  systemctl is-active -q kubelet || { systemctl start kubelet && changed 'kubelet started'; }
else
  result joined ''
fi
version kubelet "$(kubelet --version | sed 's/.* //')"
version containerd "$(containerd --version | awk '{ print $3 }')"
did prepared
