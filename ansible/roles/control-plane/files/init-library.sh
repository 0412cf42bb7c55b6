# kubeadm_init [FLAG…]: runs kubeadm init on this host, with the configuration KUBEADM_CONFIG.
kubeadm_init() {
  local id secret code out
  trap 'rm -f "$state/kubeadm-init.yaml"' EXIT
  # The token is only in files. Workers get it from there.
  id=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 6)
  secret=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 16)
  write_file "$state/kubeadm-init.yaml" 600 "${KUBEADM_CONFIG//BOOTSTRAP_TOKEN/$id.$secret}"$'\n' &&
    write_file "$state/token" 600 "$id.$secret"$'\n' || exit 1
  # The protected step itself writes the mark, so that a run that waits for it sees the step done or not done.
  /usr/local/sbin/matryoshka-fence protect kubeadm-init bash -c "$(declare -f unwritten write_file)
    kubeadm init --config $state/kubeadm-init.yaml $* && write_file /etc/matryoshka/joined 600 \$'$CLUSTER_ID $NODE_NAME $IP\\n'" > "$state/init.out" 2>&1
  code=$?
  rm -f "$state/kubeadm-init.yaml"
  if [ "$code" != 0 ]; then
    out=$(grep -v -e addrConn -e '^{"level":' "$state/init.out" | tail -20)
    # The output could not be stored if the disk is full.
    out=${out:-"kubeadm ended with code $code; see that there is room in /run, /etc and /var/lib"}
    echo "${out//$secret/…}" >&2
    exit 1
  fi
  changed 'kubeadm init'
}
