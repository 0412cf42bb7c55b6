# Prints the administrator's kubeconfig.
sed "s#https://$ENDPOINT#https://$REACHABLE#" /etc/kubernetes/admin.conf
