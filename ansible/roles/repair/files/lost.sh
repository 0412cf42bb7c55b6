# Reports files that all control planes share and that are gone here. Kubeadm does not make them again.
lost=
for file in {ca,front-proxy-ca,etcd/ca}.{crt,key} sa.{key,pub} matryoshka/encryption.yaml; do
  # The baseline says which of them this host has had.
  [ -e "$R$kubernetes/pki/$file" ] || [ -z "$(sealed "$kubernetes/pki/$file" 11)" ] || lost="$lost $file"
done
[ -z "$lost" ] || result lost "${lost# }"
