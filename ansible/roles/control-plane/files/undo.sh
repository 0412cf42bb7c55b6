# A control plane is static pods of the kubelet, which has ended before. Only its data is left.
unmake
