# Finds out whether an upgrade of this host is unfinished, and whether the host can go back.
programs=$work/upgrade/$KUBE_VERSION
[ ! -d "$programs" ] || result unfinished yes
[ -n "$ETCD_ONLY" ] || { [ "$(kubelet_version)" = "$KUBE_VERSION" ] && has_static_pods "$KUBE_VERSION"; } || [ -d "$programs/files" ] || result stuck yes
