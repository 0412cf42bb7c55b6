import { type Check, type Findings, joins } from '../check.ts';

/** Minimum versions, each with its reason. */
const LEAST = {
  curl: { version: [7, 71], for: 'downloads use --retry-all-errors' },
  systemd: { version: [236, 0], for: 'the fence uses systemd-run --collect' },
} as const;

/**
 * Controllers that the kubelet requires (k8s.io/system-validators, CgroupsValidator; those of cgroup v1 have similar names).
 */
const CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids'];

const script = `say curl "$(curl --version | awk 'NR == 1 { print $2 }')"
say systemd "$(systemctl --version | awk 'NR == 1 { print $2 }')"
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  say cgroup "v2 $(cat /sys/fs/cgroup/cgroup.controllers)"
else
  say cgroup "v1 $(awk '$1 !~ /^#/ && $4 == 1 { print $1 }' /proc/cgroups | paste -sd' ' -)"
fi`;

/** Whether a version such as 7.68.0 or 252 is lower than the given one; false for a text that is no number. */
function isLess(text: string, [major, minor]: readonly [number, number]): boolean {
  const [has, then = '0'] = text.split(/[.~-]/);
  const [a, b] = [Number(has), Number(then)];
  return a < major || (a === major && b < minor);
}

/** Checks versions of programs that our scripts call, and the cgroups that the kubelet needs. */
export const versions: Check = {
  name: 'versions',
  script: () => script,
  good: '@curl 7.88.1\n@systemd 252\n@cgroup v2 cpuset cpu io memory hugetlb pids',
  check(context) {
    const findings: Findings = { warnings: [], errors: [] };
    if (!joins(context)) return findings;
    const { said } = context.host;
    for (const [name, least] of Object.entries(LEAST))
      if (isLess(said.text(name) || 'unknown', least.version))
        findings.errors.push(
          `${name} is ${said.text(name)}; at least ${least.version.join('.')} is needed, since ${least.for}`,
        );
    const [version = '', ...controllers] = said.text('cgroup').split(' ');
    const missing = CONTROLLERS.filter((name) => !controllers.includes(name));
    if (version !== '' && missing.length > 0)
      findings.errors.push(
        `cgroup ${version} has no ${missing.join(', ')}; remove "cgroup_disable" from the kernel's command line, or add "cgroup_enable=${missing.join(' cgroup_enable=')}", and restart the host`,
      );
    if (version === 'v1')
      findings.warnings.push(
        'the host has cgroup v1, which the kubelet refuses from 1.35 on unless failCgroupV1 is false; add "systemd.unified_cgroup_hierarchy=1" to the kernel\'s command line and restart the host',
      );
    return findings;
  },
};
