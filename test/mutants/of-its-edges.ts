import type { Mutant, Witness } from './mutant.ts';

const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const FENCE = 'ansible/files/fence';
const fenced = (test: string): Witness => unit('test/roles/fence.test.ts', test);

/** Guarantees to clients that hosts, the runtime, the installer and the server keep. */
export const ofItsEdges: readonly Mutant[] = [
  {
    name: 'a host that lost the key of its authority is changed all the same',
    file: 'ansible/roles/repair/files/compare.sh',
    from: 'none) beyond=yes ;;',
    to: 'none) ;;',
    witness: unit('test/roles/repair.test.ts', 'is reported, and the host stays unchanged'),
  },
  {
    name: 'secrets are copied',
    file: 'ansible/files/watch',
    from: '&& ! is_secret "$thing" || continue',
    to: '|| continue',
    witness: unit('test/roles/repair.test.ts', 'include each small file, for root alone'),
  },
  {
    name: 'a copy counts though its sum is another',
    file: 'ansible/roles/repair/files/seal.sh',
    from: `[ "$(sha256sum < "$kept/$sum" | cut -d' ' -f1)" = "$sum" ] &&`,
    to: '[ -e "$kept/$sum" ] &&',
    witness: unit('test/roles/repair.test.ts', 'includes one whose kept copy was edited too'),
  },
  {
    name: 'a static pod is restarted though the others do not answer',
    file: 'ansible/roles/repair/files/start.sh',
    from: '! healthy || others_answer "$pod" || continue',
    to: 'true',
    witness: unit(
      'test/roles/repair-start.test.ts',
      'keeps its API server running while another does not answer',
    ),
  },
  {
    name: 'fence checked once a play',
    file: FENCE,
    from: 'compare "$1" "$2" "$3" "$4"\n  MATRYOSHKA_RUN=',
    to: 'MATRYOSHKA_RUN=',
    witness: fenced('a lower epoch'),
  },
  {
    name: 'owner file not checked at reset',
    file: FENCE,
    from: 'else refuse 81 "HostConflict: this host belongs to cluster $held and was not released"',
    to: 'else :',
    witness: fenced('another cluster that names a third'),
  },
  {
    name: 'a step that must not be cut is not awaited',
    file: FENCE,
    from: 'for scope in $(scopes hold); do',
    to: 'for scope in; do',
    witness: fenced('is awaited by the next run, while the rest of its run ends'),
  },
  {
    name: 'superseded runs go on',
    file: FENCE,
    from: '*) end "$scope"; echo "ended $scope" ;; esac',
    to: '*) : ;; esac',
    witness: { plan: 'create+delete,linger@create:run:1' },
  },
  {
    name: 'a number given twice to attempts',
    file: 'src/installer/job/installer.ts',
    from: 'const nothing: AttemptState = caches.made.has(ref.job)',
    to: "const nothing: AttemptState = caches.made.has('')",
    witness: { plan: 'create+delete,job-deleted@create:run:1,lag@create:POST/jobs/create-X-1:1' },
  },
  {
    name: 'callback believed over the Job',
    file: 'src/installer/job/judge.ts',
    from: '  if (verdict) {\n',
    to: "  if (verdict) {\n    return { kind: 'succeeded', ...told };\n",
    witness: unit('src/installer/job/judge.test.ts', 'the Job is believed over a report of success'),
  },
  {
    name: 'cache read after write',
    file: 'src/runtime/controller/controller.ts',
    from: 'if (holds.passes(key, () => queue.add(key, priority))) {',
    to: 'if (holds.size >= 0) {',
    witness: unit(
      'src/runtime/controller/controller.test.ts',
      'holds a key until the caches have seen its writes, and lets others pass',
    ),
  },
  {
    name: 'requeue lost',
    file: 'src/runtime/controller/controller.ts',
    from: 'if (afterMs !== undefined) queue.addAfter(key, Math.max(afterMs, 1), result?.behind ? LOW : priority);',
    to: '',
    witness: unit('src/runtime/controller/controller.test.ts', 'requeues a key when requested'),
  },
  {
    name: 'leadership not asked before a write',
    file: 'src/runtime/client/scoped-client.ts',
    from: 'if (mayWrite && !mayWrite()) throw',
    to: 'if (mayWrite && mayWrite === undefined) throw',
    witness: unit('src/runtime/client/scoped-client.test.ts', 'makes no write without leadership'),
  },
  {
    name: 'token audience unchecked',
    file: 'src/access/reviews.ts',
    from: 'const meant = audiences === undefined || status.audiences.some((one) => audiences.includes(one));',
    to: 'const meant = status.authenticated;',
    witness: unit(
      'src/access/reviews.test.ts',
      'rejects a token if the review does not confirm its audience',
    ),
  },
  {
    name: 'a host known by its node name',
    file: 'src/protocol/inventory.ts',
    from: '[host.member.ip, varsOf(host',
    to: '[host.member.name, varsOf(host',
    witness: unit(
      'src/protocol/inventory.test.ts',
      'describes how to reach a host, its node name, and the run',
    ),
  },
  {
    name: 'a kubeconfig passed through as a host wrote it',
    file: 'src/ansibleinit/kubeconfig.ts',
    from: "user: z.object({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }),",
    to: "user: z.looseObject({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }),",
    witness: unit('src/ansibleinit/kubeconfig.test.ts', 'drops fields that a host could have planted'),
  },
  {
    name: 'warnings lost to what is said often',
    file: 'src/runtime/events/event-correlator.ts',
    from: 'const bucket = buckets.get(group) ?? { tokens: burst, atMs: now };',
    to: 'const bucket = buckets.get(about) ?? { tokens: burst, atMs: now };\n    buckets.set(about, bucket);',
    witness: unit(
      'src/runtime/events/event-correlator.test.ts',
      'limits one object and reason to 25 Events, then one in five minutes',
    ),
  },
  {
    name: 'requested-by as whoever asks writes it',
    file: 'src/webhook/mutate/kubernetes-cluster.ts',
    from: '? userInfo.username : annotationOf(old, name);',
    to: '? (annotationOf(next, name) ?? userInfo.username) : annotationOf(old, name);',
    witness: unit('src/webhook/mutate/kubernetes-cluster.test.ts', 'a creation in another name'),
  },
  {
    name: 'remains wiped in the name of a cluster that released the host',
    file: 'src/precheck/checks/owner.ts',
    from: '    !found.released &&\n',
    to: '',
    witness: unit('src/precheck/checks.test.ts', 'is refused when it was released'),
  },
  {
    name: 'an auxiliary Job is counted as an attempt of the operation',
    file: 'src/server/auth/job-caller.ts',
    from: '(!isAuxiliary && now.sequence === sequence && now.attempt > attempt)',
    to: '((isAuxiliary || !isAuxiliary) && now.sequence === sequence && now.attempt > attempt)',
    witness: {
      project: 'api',
      file: 'src/server/jobs/jobs.api.test.ts',
      test: 'refuse an attempt that a later one replaced',
    },
  },
  {
    name: 'whoever may annotate lets go what another has planned',
    file: 'src/webhook/validate/secret-use.ts',
    from: 'if (isDryRun(old) !== isDryRun(next)) return true;',
    to: '',
    witness: unit('src/webhook/validate/secret-use.test.ts', 'the end of a dry run'),
  },
  {
    name: 'an edit that begins what failed anew needs no right to the Secret',
    file: 'src/webhook/validate/secret-use.ts',
    from: 'if (asked === undefined) return startsByEdit(old, next, hosts);',
    to: 'if (asked === undefined) return hosts.length < 0;',
    witness: unit(
      'src/webhook/validate/secret-use.test.ts',
      'requires the Secret permission if a partial revert starts an operation',
    ),
  },
  {
    name: 'a pod network that is left out becomes flannel for hosts that join',
    file: 'src/operations/resolve.ts',
    from: 'spec.addons?.network ?? applied?.addons?.network ??',
    to: 'spec.addons?.network ??',
    witness: unit(
      'src/operations/infer.test.ts',
      'refuses a change from or to no pod network, and keeps an omitted one',
    ),
  },
  {
    name: 'a reset leaves what kube-router put into chains of everybody',
    file: 'ansible/roles/network/files/undo.sh',
    from: '($ours)-ROUTER rule ',
    to: 'no rule ',
    witness: unit(
      'test/roles/packet-rules.test.ts',
      'a reset removes rules of kube-router from shared chains, and keeps other rules',
    ),
  },
  {
    name: 'a reset takes sets of addresses of others',
    file: 'ansible/roles/network/files/rules.sh',
    from: '^(inet6:)?($1)-[A-Z2-7]{16}',
    to: '',
    witness: unit('test/roles/manifest.test.ts', 'are removed with the network, and sets of others stay'),
  },
  {
    name: 'what sudo refuses taken for what the host says',
    file: 'src/ssh/sudo.ts',
    from: 'return code === 0 ?',
    to: 'return code >= 0 ?',
    witness: unit(
      'src/precheck/run.test.ts',
      'reports the sudoers line to add, and discards the output, if sudo is refused',
    ),
  },
  {
    name: 'root needs sudo',
    file: 'src/ssh/connection.ts',
    from: "user === 'root' ? {",
    to: "user === '' ? {",
    witness: unit('src/ssh/sudo.test.ts', 'never calls sudo if it'),
  },
  {
    name: 'a password goes to a host whose sudo asks for none',
    file: 'src/ssh/sudo.ts',
    from: 'if (!(await silent(timeoutMs))) return false;',
    to: '',
    witness: unit('src/ssh/sudo.test.ts', 'runs a command without the password in its input if sudo'),
  },
  {
    name: 'what a command reads is tried as a password',
    file: 'src/ssh/sudo.ts',
    from: `printf '%s\\\\n' "$word" | \${ASKING} /bin/sh -c : && `,
    to: '',
    witness: unit(
      'src/ssh/sudo.test.ts',
      'tries an outdated password once with a command, and tries no input',
    ),
  },
  {
    name: 'a file of manifests that somebody edited is applied',
    file: 'src/controller/cluster/state/pinned-files.ts',
    from: 'if (sum !== sha256)',
    to: 'if (sum.length !== sha256.length)',
    witness: {
      project: 'api',
      file: 'test/conformance/manifests.test.ts',
      test: 'are not applied if a user edits them',
    },
  },
  {
    name: 'whoever asks for a creation anew needs no right to its manifests',
    file: 'src/webhook/validate/manifest-use.ts',
    from: 'if (!old || (!isMade && asksAnew(old, next, hosts)))',
    to: 'if (!old)',
    witness: unit('src/webhook/validate/manifest-use.test.ts', 'of a creation that is asked, all'),
  },
];
