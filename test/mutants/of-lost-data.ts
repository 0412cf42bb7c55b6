import type { Mutant, Witness } from './mutant.ts';

const rejoined = (test: string): Witness => ({ project: 'unit', file: 'test/roles/rejoin.test.ts', test });

/** Members of etcd that have lost their data. */
export const ofLostData: readonly Mutant[] = [
  {
    name: 'one stray member makes the others lost',
    file: 'ansible/roles/repair/files/lost-member.sh',
    from: 'if (has[id] * 2 > peers + 1)',
    to: 'if (has[id])',
    witness: rejoined('only if a majority of all members has one etcd'),
  },
  {
    name: 'a member with its data elsewhere is replaced',
    file: 'ansible/roles/repair/files/lost-member.sh',
    from: 'elif is_elsewhere; then enough',
    to: 'elif false; then enough',
    witness: rejoined('if there is none, and it does not answer'),
  },
  {
    name: 'a member is removed while another does not answer',
    file: 'ansible/roles/repair/files/rejoin.sh',
    from: '  check_etcd "$ALL_LOST" "$IP"\n',
    to: '',
    witness: rejoined('is not added while another member does not answer'),
  },
  {
    name: 'data that stood there is deleted',
    file: 'ansible/roles/repair/files/rejoin.sh',
    from: 'if [ -e "$data/member" ] && [ ! -e "$aside/$SEQUENCE/member" ]; then',
    to: 'if false; then',
    witness: rejoined('gets the place of the lost one, whose data is set aside'),
  },
  {
    name: 'a retry sets the new data aside, and deletes the former',
    file: 'ansible/roles/repair/files/rejoin.sh',
    from: '[ ! -e "$aside/$SEQUENCE/member" ]',
    to: 'rm -rf "$aside/$SEQUENCE"',
    witness: rejoined('continues after an interruption'),
  },
];
