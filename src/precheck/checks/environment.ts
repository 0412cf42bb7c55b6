import { type Check, fine, joins, warning } from '../check.ts';

/** Files in which hosts set variables for logins. */
const FILES =
  '/etc/environment /etc/profile /etc/profile.d/*.sh /etc/bash.bashrc /etc/bashrc /etc/default/locale /root/.profile /root/.bash_profile /root/.bashrc /root/.ssh/environment';

/**
 * Reports a proxy for all users of the host. Our commands ignore it; a proxy set in systemd would reach containerd and the
 * kubelet.
 */
export const environment: Check = {
  name: 'environment',
  // The script reports names only, because a value may contain a password.
  script:
    () => `names() { grep -aoiE '^[[:space:]]*(export[[:space:]]+)?(http|https|no|all)_proxy=' | sed 's/=$//; s/^.*[[:space:]]//' | sort -u | paste -sd, - | sed 's/,/, /g'; }
for file in ${FILES}; do
  [ -r "$file" ] || continue
  found=$(names < "$file")
  [ -z "$found" ] || say proxy "$file sets $found"
done
found=$(systemctl show-environment | names)
[ -z "$found" ] || say managerProxy "$found"`,
  good: '',
  check(context) {
    if (!joins(context)) return fine;
    const { said } = context.host;
    const files = said.all('proxy');
    const manager = said.text('managerProxy');
    const found = [
      ...(files.length === 0
        ? []
        : [
            `has a proxy of its own: ${files.join('; ')}. No command of ours uses it: images are pulled through spec.cluster.kubeadm.proxy, and hosts, endpoint and artifacts must be reached directly`,
          ]),
      ...(manager === ''
        ? []
        : [
            `systemd gives all services a proxy (${manager}), containerd and the kubelet too; take it out with "systemctl unset-environment" and in /etc/systemd/system.conf, or see that NO_PROXY has all hosts, the endpoint and the networks of the cluster`,
          ]),
    ];
    return found.length === 0 ? fine : warning(...found);
  },
};
