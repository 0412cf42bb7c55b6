import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { type Check, type Findings, joins } from '../check.ts';

/** Whether pods get name servers that the site chooses (kubelet_resolv_conf_nameservers, kubelet_config.resolvConf). */
const limits = z.object({ ownNameServers: z.boolean().default(false) });

/**
 * Script that reads the file which the kubelet passes to CoreDNS: systemd-resolved's own if that runs, as kubeadm chooses.
 */
const script = `R=\${MATRYOSHKA_ROOT:-} file=/etc/resolv.conf
! systemctl is-active -q systemd-resolved.service || file=/run/systemd/resolve/resolv.conf
say resolvConf $file
if [ -r "$R$file" ]; then say resolvConfRead yes; else say resolvConfRead no; fi
sed -n 's/^[[:space:]]*nameserver[[:space:]]*\\([^[:space:]]*\\).*/\\1/p' "$R$file" | while read -r server; do say nameServer "$server"; done`;

const isLoopback = (text: string): boolean => {
  const address = text.split('%')[0] ?? '';
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
};

/**
 * Checks the name servers of CoreDNS. Without the file, the kubelet starts no pod. With a loopback address, CoreDNS queries
 * itself and ends (plugin loop); without a name server it does not start.
 */
export const nameServers: Check = {
  name: 'name-servers',
  script: () => script,
  limits,
  good: '@resolvConf /etc/resolv.conf\n@resolvConfRead yes\n@nameServer 192.0.2.53',
  check(context) {
    const findings: Findings = { warnings: [], errors: [] };
    const { said, role } = context.host;
    if (!joins(context) || role === 'etcd' || limits.parse(context.limits).ownNameServers) return findings;
    const file = said.text('resolvConf');
    const servers = said.all('nameServer').filter((text) => text !== '');
    const loopback = servers.filter(isLoopback);
    const fix = 'name servers that pods can reach, or set kubelet_resolv_conf_nameservers for the site';
    if (said.text('resolvConfRead') === 'no')
      findings.errors.push(
        `${file} is missing, and the kubelet starts no pod without it; make it, with ${fix}`,
      );
    else if (servers.length === 0)
      findings.errors.push(`${file} names no name server, so CoreDNS does not start; write ${fix}`);
    else if (loopback.length === servers.length)
      findings.errors.push(
        `${file} names ${loopback.join(', ')} alone: a pod finds itself there, and CoreDNS ends in a loop; write ${fix}`,
      );
    else if (loopback.length > 0)
      findings.warnings.push(
        `${file} names ${loopback.join(', ')}: a pod finds itself there; write only ${fix}`,
      );
    return findings;
  },
};
