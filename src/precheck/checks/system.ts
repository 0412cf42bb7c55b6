import { type Check, error, type Findings, joins } from '../check.ts';

/** Operating system, architecture, init and Python: what the roles are written for. */
export const system: Check = {
  name: 'system',
  check(context): Findings {
    if (!joins(context)) return { warnings: [], errors: [] };
    const { architecture, os, init, python } = context.host.facts;
    const findings: Findings = { warnings: [], errors: [] };
    if (architecture !== 'x86_64')
      findings.errors.push(`architecture is ${architecture || 'unknown'}; x86_64 is offered`);
    if (init !== 'systemd') findings.errors.push(`process 1 is ${init || 'unknown'}; systemd is needed`);
    if (!python) findings.errors.push('python3 is not installed; Ansible needs it on the host');
    if (!['debian', 'ubuntu'].includes(os.id)) {
      findings.warnings.push(
        `operating system ${os.id || 'unknown'} ${os.version} is not tested; Debian and Ubuntu are`,
      );
    }
    return findings;
  },
};

/** Installing needs root; sudo comes with a later part. */
export const root: Check = {
  name: 'root',
  check: ({ host }) =>
    host.facts.uid === 0
      ? { warnings: [], errors: [] }
      : error(`the SSH user has uid ${host.facts.uid}; root is needed`),
};
