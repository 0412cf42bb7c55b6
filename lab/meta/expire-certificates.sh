# Runs on a host of a cluster: `NODE DUTY ADDRESS PAIR`. Replaces all certificates of the host by ones that end within seconds.
# PAIR: base64 of a certificate with its key for the kubelet, which a control plane has issued.
set -eu
node=$1 duty=$2 address=$3 pair=$4
k8s=/etc/kubernetes new=/run/short-lived
systemctl stop kubelet
base64 -d <<< "$pair" > /var/lib/kubelet/pki/kubelet-client-current.pem
[ "$duty" = master ] || exit 0
mkdir $new
cp -r $k8s/pki $new/pki
find $new/pki -name '*.crt' ! -name ca.crt ! -name front-proxy-ca.crt -delete
find $new/pki -name '*.key' ! -name ca.key ! -name front-proxy-ca.key ! -name sa.key -delete
{
  KUBECACHEDIR=$new/cache kubectl --kubeconfig $k8s/admin.conf -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' |
    sed "s#^certificatesDir:.*#certificatesDir: $new/pki#; s#^certificateValidityPeriod:.*##"
  printf '%s\n' 'certificateValidityPeriod: 5s' --- 'apiVersion: kubeadm.k8s.io/v1beta4' 'kind: InitConfiguration' \
    "nodeRegistration: {name: $node}" "localAPIEndpoint: {advertiseAddress: $address}"
} > $new/config.yaml
kubeadm init phase certs all --config $new/config.yaml > $new/out 2>&1 || { cat $new/out; exit 1; }
kubeadm init phase kubeconfig all --config $new/config.yaml --kubeconfig-dir $new > $new/out 2>&1 || { cat $new/out; exit 1; }
rm -r $new/kubelet.conf $new/config.yaml $new/out $new/cache
(cd $new && find . -type f) | while read -r file; do [ ! -e "$k8s/$file" ] || cp "$new/$file" "$k8s/$file"; done
rm -r $new
