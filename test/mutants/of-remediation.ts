import type { Mutant, Witness } from './mutant.ts';

const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const JUDGE = 'src/controller/cluster/health/judge';
const DECIDE = 'src/controller/cluster/decide';
const WEBHOOK = 'src/webhook/validate';

/** Automatic replacement: its targets, its time, and its permission. */
export const ofRemediation: readonly Mutant[] = [
  {
    name: 'a control plane is replaced though two are away',
    file: `${JUDGE}/absence.ts`,
    from: 'return all.length > 1',
    to: 'return all.length > 9',
    witness: unit(`${JUDGE}/absence.test.ts`, 'is away, and so is another'),
  },
  {
    name: 'what only the operator cannot reach is away',
    file: `${JUDGE}/absence.ts`,
    from: ' && nodeOf(ip)?.ready === false',
    to: '',
    witness: unit(`${JUDGE}/absence.test.ts`, 'cannot be reached, and its kubelet reports'),
  },
  {
    name: 'an absence goes on while nobody can tell',
    file: `${JUDGE}/absence.ts`,
    from: "if (found?.reason !== 'OneAway') return undefined;",
    to: "if (found?.reason !== 'OneAway') return before;",
    witness: unit(`${JUDGE}/absence.test.ts`, 'ends where nobody can tell'),
  },
  {
    name: 'control planes are replaced one after the other',
    file: `${DECIDE}/rest/remediation.ts`,
    from: '>= hours * HOUR_MS',
    to: '>= -hours * HOUR_MS',
    witness: unit(`${DECIDE}/rest/remediation.test.ts`, 'does not come twice a day'),
  },
  {
    name: 'another spare is tried where a replacement failed',
    file: `${DECIDE}/rest/remediation.ts`,
    from: "if (hasFailed && hosts.some((host) => stateOf(host) !== 'Joined')) return undefined;",
    to: "if (hasFailed && hosts.every((host) => stateOf(host) !== 'Joined')) return undefined;",
    witness: unit(`${DECIDE}/rest/remediation.test.ts`, 'does not follow an operation that failed'),
  },
  {
    name: 'whoever may change a cluster names spare hosts',
    file: `${WEBHOOK}/secret-use.ts`,
    from: '    loosensPolicy(old.spec, next.spec) ||\n',
    to: '',
    witness: unit(`${WEBHOOK}/secret-use.test.ts`, 'that names a spare'),
  },
  {
    name: 'the controller edits specs as it likes',
    file: `${WEBHOOK}/kubernetes-cluster.ts`,
    from: ' &&\n    isRemediation(old.spec, next.spec)',
    to: '',
    witness: unit(
      `${WEBHOOK}/kubernetes-cluster.test.ts`,
      'lets the controller edit the spec only to replace a control plane with a spare',
    ),
  },
];
