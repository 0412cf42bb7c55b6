# Changes the settings of this worker. A change of the runtime has been made before.
umask 077
mkdir -p "$state" || exit 1
take_kubelet_config
did changed
