import { type Check, type Findings, joins } from '../check.ts';

/** Checks operating system, architecture and init, which the roles require. */
export const system: Check = {
  name: 'system',
  script: () => `say architecture "$(uname -m)"
(. /etc/os-release; say os "$ID $VERSION_ID")
say init "$(cat /proc/1/comm)"`,
  good: '@architecture x86_64\n@os debian 12\n@init systemd',
  check(context): Findings {
    const findings: Findings = { warnings: [], errors: [] };
    if (!joins(context)) return findings;
    const { said } = context.host;
    const [architecture, os, init] = ['architecture', 'os', 'init'].map((key) => said.text(key) || 'unknown');
    if (architecture !== 'x86_64') findings.errors.push(`architecture is ${architecture}; x86_64 is offered`);
    if (init !== 'systemd') findings.errors.push(`process 1 is ${init}; systemd is needed`);
    if (!/^(debian|ubuntu) /.test(os ?? ''))
      findings.warnings.push(`operating system ${os} is not tested; Debian and Ubuntu are`);
    return findings;
  },
};
