import type { Mutant, Witness } from './mutant.ts';

const drained = (test: string): Witness => ({
  project: 'api',
  file: 'test/conformance/drain-holds.test.ts',
  test,
});

/** How operations must not end. */
export const ofOperations: readonly Mutant[] = [
  {
    name: 'only a disruption budget holds a node',
    file: 'ansible/roles/drain/files/drain.sh',
    from: 'hold "$2" "$namespace/$pod" "${said:-',
    to: '[[ $said != *"disruption budget"* ]] || hold "$2" "$namespace/$pod" "${said:-',
    witness: drained('holds a node whose pod has two disruption budgets'),
  },
  {
    name: 'a list of pods that fails counts as nobody there',
    file: 'ansible/roles/drain/files/drain.sh',
    from: '{ hold "$2" \'\' "its pods cannot be listed: $pods"; return; }',
    to: 'return',
    witness: drained('every eviction, and lists of pods after the first'),
  },
  {
    name: 'a node that SSH does not reach is not drained',
    file: 'ansible/roles/drain/files/drain.sh',
    from: '&& [ "$ready" = Unknown ]',
    to: '',
    witness: drained('drains a Ready node that SSH does not reach'),
  },
];
