import { type Check, type Findings, joins } from '../check.ts';

/**
 * Programs that our scripts, kubeadm and the kubelet call, by their Debian package. `test/house/programs.test.ts` compares
 * the list with the scripts. kubeadm itself needs losetup, mount and cp (cmd/kubeadm/app/preflight/checks.go), the kubelet
 * umount (k8s.io/mount-utils), tar gzip.
 */
export const REQUIRED: Readonly<Record<string, string>> = {
  bash: 'bash',
  coreutils:
    'base64 basename cat chmod chown chroot comm cp cut date dd df env head id install ln ls mkdir mktemp mv nproc paste readlink rm rmdir seq sha256sum sleep sort sync tac tail tee timeout touch tr truncate uname wc',
  curl: 'curl',
  dash: 'sh',
  diffutils: 'cmp diff',
  findutils: 'find xargs',
  grep: 'grep',
  gzip: 'gunzip gzip',
  iproute2: 'ip ss',
  kmod: 'modprobe',
  mawk: 'awk',
  mount: 'losetup mount swapoff umount',
  procps: 'sysctl',
  sed: 'sed',
  systemd: 'journalctl systemctl systemd-escape systemd-run',
  tar: 'tar',
  'util-linux': 'flock mountpoint setsid',
};

/** Optional programs, and the effect of their absence. */
export const RECOMMENDED: Readonly<Record<string, string>> = {
  openssl: 'sums take longer, the repair cannot check certificates, and a renewal restarts kubelets',
  logger: 'the fence writes nothing into the journal',
};

/** Alternatives: each family saves and lists the rules of the other. */
export const PACKET_RULES = ['nft', 'iptables-save', 'ip6tables-save'];

const all = [...Object.values(REQUIRED).flatMap((names) => names.split(' ')), ...Object.keys(RECOMMENDED)];

/** Returns the message with `apt-get install` for missing programs, if their Debian packages are known. */
function reported(missing: readonly string[]): string {
  const packages = Object.entries(REQUIRED).filter(([, names]) =>
    names.split(' ').some((name) => missing.includes(name)),
  );
  return `${missing.join(', ')} is not installed; the roles need it (Debian: apt-get install ${packages.map(([name]) => name).join(' ')})`;
}

export const programs: Check = {
  name: 'programs',
  script: () =>
    `for tool in ${[...all, ...PACKET_RULES].join(' ')}; do command -v $tool >/dev/null || say missing $tool; done`,
  good: '',
  check(context): Findings {
    const findings: Findings = { warnings: [], errors: [] };
    if (!joins(context)) return findings;
    const missing = context.host.said.all('missing');
    const required = missing.filter((name) => !(name in RECOMMENDED) && !PACKET_RULES.includes(name));
    if (required.length > 0) findings.errors.push(reported(required));
    for (const name of missing.filter((one) => one in RECOMMENDED))
      findings.warnings.push(`${name} is not installed: ${RECOMMENDED[name]}`);
    if (missing.includes('nft') && missing.includes('iptables-save'))
      findings.warnings.push(
        'neither nft nor iptables is installed: pods have no ports of the host (hostPort), and a reset leaves packet rules; install nftables or iptables',
      );
    return findings;
  },
};
