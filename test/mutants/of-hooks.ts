import type { Mutant, Witness } from './mutant.ts';

const DECIDE = 'src/controller/cluster/decide';
const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const ofTable = (test: string) => unit(`${DECIDE}/hook/hook.test.ts`, test);

/** Playbooks of users: permission to run them, number of runs, and their input. */
export const ofHooks: readonly Mutant[] = [
  {
    name: 'an operation with hooks is asked without the right to them',
    file: 'src/webhook/validate/hook-use.ts',
    from: 'hookComes(old?.spec ?? {}, next.spec) || usesSecretAnew(change)',
    to: 'hookComes(old?.spec ?? {}, next.spec)',
    witness: unit('src/webhook/validate/hook-use.test.ts', 'an operation that is asked'),
  },
  {
    name: 'a hook whose Job is gone is run again',
    file: `${DECIDE}/hook/signal.ts`,
    from: "now.getTime() >= lostAt(state)) return 'hook-failed';",
    to: "now.getTime() >= lostAt(state)) return 'hook-due';",
    witness: ofTable('that was seen and is gone is not started again'),
  },
  {
    name: 'a run begins while the pod of a hook still works',
    file: `${DECIDE}/work/rules.ts`,
    from: 'return leavesMs > 0 ?',
    to: 'return leavesMs > Infinity ?',
    witness: ofTable('starts after the Jobs of other hooks are gone'),
  },
  {
    name: 'hooks are run by an operator that allows none',
    file: `${DECIDE}/hook/rules.ts`,
    from: 'if (offer.hooks !== true) {',
    to: 'if (offer.hooks === false) {',
    witness: ofTable('ends the operation if the operator allows no hooks'),
  },
  {
    name: 'the pod of a hook has a token',
    file: 'src/installer/job/manifest.ts',
    from: 'const given = isHook ? [] : servedVolumes(settings);',
    to: 'const given = servedVolumes(settings);',
    witness: unit(
      'src/installer/job/manifest.test.ts',
      'has no token, no address of the server, and a separate ServiceAccount',
    ),
  },
  {
    name: 'a hook tells the key that it was given',
    file: 'src/ansibleinit/output-summary.ts',
    from: "text.replaceAll(secret, '***')",
    to: 'text.replaceAll(secret, secret)',
    witness: unit('src/ansibleinit/output-summary.test.ts', 'masks each secret, and each single line of it'),
  },
];
