import type { Mutant, Witness } from './mutant.ts';

const rotated = (test: string): Witness => ({ project: 'unit', file: 'test/roles/rotate.test.ts', test });

/** Keys that API servers share. */
export const ofKeys: readonly Mutant[] = [
  {
    name: 'tokens by the former signing key are refused at once',
    file: 'ansible/roles/rotate/files/use.sh',
    from: 'uses "$pki/sa.pub" "$made"$\'\\n\'"$former"',
    to: 'uses "$pki/sa.pub" "$made"',
    witness: rotated('lets all accept the new keys before one uses them'),
  },
  {
    name: 'signing keys are accepted for ever',
    file: 'ansible/roles/rotate/files/accept.sh',
    from: 'uses "$pki/sa.pub" "$former"',
    to: 'uses "$pki/sa.pub" "$(cat "$pki/sa.pub")"',
    witness: rotated('no longer accepts the key from before the former one'),
  },
  {
    name: 'a component that was about to restart keeps the former keys',
    file: 'ansible/roles/rotate/files/keys.sh',
    from: 'rm -f "$work/rotate-$stage"',
    to: 'true',
    witness: rotated('changes nothing that a second run finds done'),
  },
  {
    name: 'a retry makes other keys',
    file: 'ansible/roles/rotate/files/make.sh',
    from: 'if ! is_whole "$next"; then',
    to: 'if true; then',
    witness: rotated('goes on with the same keys if cut short'),
  },
  {
    name: 'an encryption key goes while Secrets need it',
    file: 'ansible/roles/rotate/files/encrypt.sh',
    from: '[ "$others" = 0 ] ||',
    to: 'true ||',
    witness: rotated('keeps the former key of encryption'),
  },
  {
    name: 'pods keep tokens by the former signing key',
    file: 'ansible/roles/rotate/files/kubelet.sh',
    from: '\nrestart_kubelet\n',
    to: '\n',
    witness: rotated('restarts a kubelet that runs, and waits until it serves'),
  },
  {
    name: 'only one external member gets the snapshot',
    file: 'src/operations/restore.ts',
    from: 'all.some(isExternalEtcd) ? isExternalEtcd(host) :',
    to: 'all.some(isExternalEtcd) ? host === all.find(isExternalEtcd) :',
    witness: {
      project: 'unit',
      file: 'src/operations/restore.test.ts',
      test: 'makes external members anew',
    },
  },
];
