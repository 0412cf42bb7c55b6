import type { Mutant, Witness } from './mutant.ts';

const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const decided = (file: string, test: string): Witness =>
  unit(`src/controller/cluster/decide/${file}.test.ts`, test);
const FENCE = 'ansible/files/fence';
const fenced = (test: string): Witness => unit('test/roles/fence.test.ts', test);

/** Limits of cancellation, and guarantees of an approved plan. */
export const ofCancelAndPlans: readonly Mutant[] = [
  {
    name: 'a deletion is cancelled',
    file: 'src/api/cluster-facts.ts',
    from: "if (!running || running.name === 'delete') return false;",
    to: 'if (!running) return false;',
    witness: decided('cancel/cancel', 'is a deletion'),
  },
  {
    name: 'hosts of a run that does not report count as untouched',
    file: 'src/controller/cluster/decide/cancel/rules.ts',
    from: '...touchedBy(snapshot),',
    to: '',
    witness: decided('cancel/cancel', 'counts its hosts as touched, then ends, if its run does not report'),
  },
  {
    name: 'a failure that came first counts as cancelled',
    file: 'src/controller/cluster/decide/work/rules.ts',
    from: 'status.cancelledAt !== undefined && attempt.reason === CANCELLED',
    to: 'status.cancelledAt !== undefined',
    witness: decided('cancel/cancel', 'has failed if its run failed for another reason first'),
  },
  {
    name: 'a run that was told to stop goes on',
    file: FENCE,
    from: '[ "$(cat "$state/stopped" 2>/dev/null)" != "$MATRYOSHKA_RUN" ] ||',
    to: 'true ||',
    witness: fenced('ends its commands and refuses new ones'),
  },
  {
    name: 'a script is ended that awaits a protected step',
    file: FENCE,
    from: '! alive "$step" ||',
    to: 'true ||',
    witness: fenced('does not end a script that awaits a protected step'),
  },
  {
    name: 'a step that must be finished is cut off',
    file: 'src/ansibleinit/brake.ts',
    from: 'if (uncut.has(progress.play)) continue;',
    to: '',
    witness: unit('src/ansibleinit/cancel.test.ts', 'interrupts nothing in a step that must finish'),
  },
  {
    name: 'a plan holds though an operation came between',
    file: 'src/operations/plan-hash.ts',
    from: '      after,\n      spec:',
    to: '      spec:',
    witness: unit('src/operations/plan-hash.test.ts', 'an operation since'),
  },
  {
    name: 'another machine joins under a plan that was agreed to',
    file: 'src/ansibleinit/machines.ts',
    from: 'machineSeen(now) !== seen',
    to: 'seen === ""',
    witness: unit(
      'src/ansibleinit/machines.test.ts',
      'is refused if it is not the machine that the dry run saw',
    ),
  },
  {
    name: 'a plan is another by what its dry run saw, and holds all the same',
    file: 'src/operations/plan-hash.ts',
    from: '{ ...host, seen: machine }',
    to: 'host',
    witness: unit(
      'src/controller/cluster/decide/approved-plan.test.ts',
      'is accepted only with the machines that the dry run saw',
    ),
  },
  {
    name: 'a plan is held against later requests',
    file: 'src/controller/cluster/decide/approved-plan.ts',
    from: "hash === '' || hash === operation?.plan",
    to: "hash === ''",
    witness: decided('approved-plan', 'does not restrict the next request after it was accepted'),
  },
  {
    name: 'what waits under another plan is let go without a right',
    file: 'src/webhook/validate/secret-use.ts',
    from: 'if (annotationOf(old, annotations.plan) !== annotationOf(next, annotations.plan)) return true;',
    to: '',
    witness: unit(
      'src/webhook/validate/agreed-plan.test.ts',
      'requires the Secret permission to remove the plan hash of a waiting request',
    ),
  },
  {
    name: 'the hash of a plan does not know whose remains are wiped',
    file: 'src/operations/plan-for.ts',
    from: ' ?? situation.remains?.get(host.ip)',
    to: '',
    witness: unit('src/operations/plan-hash.test.ts', 'remains that its former cluster has left'),
  },
  {
    name: 'a word whose spec was edited meanwhile is answered as if it was done',
    file: 'src/controller/cluster/effects/report-result.ts',
    from: 'request.specHash !== operation.specHash',
    to: 'false',
    witness: {
      project: 'api',
      file: 'test/conformance/cluster-lifecycle.test.ts',
      test: 'runs the same operation next too',
    },
  },
  {
    name: 'a host that did not join is no difference of plan and result',
    file: 'src/operations/plan-and-result.ts',
    from: 'aim !== undefined && !result?.ok',
    to: 'aim !== undefined && result?.ok === undefined',
    witness: unit('src/operations/plan-and-result.test.ts', 'a host that did not join'),
  },
];
