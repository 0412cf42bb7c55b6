# The control plane is static pods of the kubelet, which ends before; its data is left.
unmake
