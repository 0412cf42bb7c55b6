import type { Mutant, Witness } from './mutant.ts';

const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const FENCE = 'ansible/files/fence';
const fenced = (test: string): Witness => unit('lab/fence.test.ts', test);

/** Decisions of docs/contract.md that hosts, the runtime, the installer and the server keep. */
export const ofItsEdges: readonly Mutant[] = [
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
    witness: fenced('is awaited, while the rest of its run is ended'),
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
      'holds a key until the caches have seen what it wrote, and lets others pass',
    ),
  },
  {
    name: 'requeue lost',
    file: 'src/runtime/controller/controller.ts',
    from: 'if (afterMs !== undefined) queue.addAfter(key, Math.max(afterMs, 1), result?.behind ? LOW : priority);',
    to: '',
    witness: unit('src/runtime/controller/controller.test.ts', 'comes back when asked to'),
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
      'takes nobody for the holder of a token for an audience that the answer does not confirm',
    ),
  },
  {
    name: 'a host known by its node name',
    file: 'src/protocol/inventory.ts',
    from: 'hosts: Object.fromEntries(hosts.map((host) => [host.member.ip, varsOf(host, order.username)])),',
    to: 'hosts: Object.fromEntries(hosts.map((host) => [host.member.name, varsOf(host, order.username)])),',
    witness: unit(
      'src/protocol/inventory.test.ts',
      'says how to reach a host, what its node is called, and which run this is',
    ),
  },
  {
    name: 'a kubeconfig passed through as a host wrote it',
    file: 'src/ansibleinit/kubeconfig.ts',
    from: "user: z.object({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }),",
    to: "user: z.looseObject({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }),",
    witness: unit('src/ansibleinit/kubeconfig.test.ts', 'takes over no field that a host could have planted'),
  },
  {
    name: 'warnings lost to what is said often',
    file: 'src/runtime/events/event-correlator.ts',
    from: 'const bucket = buckets.get(group) ?? { tokens: burst, atMs: now };',
    to: 'const bucket = buckets.get(about) ?? { tokens: burst, atMs: now };\n    buckets.set(about, bucket);',
    witness: unit(
      'src/runtime/events/event-correlator.test.ts',
      'lets 25 an object and reason through, then one in five minutes, and others none the less',
    ),
  },
  {
    name: 'requested-by as whoever asks writes it',
    file: 'src/webhook/mutate/kubernetes-cluster.ts',
    from: '? userInfo.username : mark(old, name);',
    to: '? (mark(next, name) ?? userInfo.username) : mark(old, name);',
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
    name: 'an errand is counted as an attempt of the operation',
    file: 'src/server/auth/job-caller.ts',
    from: '(!isErrand && now.sequence === sequence && now.attempt > attempt)',
    to: '((isErrand || !isErrand) && now.sequence === sequence && now.attempt > attempt)',
    witness: {
      project: 'api',
      file: 'src/server/jobs/jobs.api.test.ts',
      test: 'refuse an attempt whose place a later one has taken',
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
    witness: unit('src/webhook/validate/secret-use.test.ts', 'a part of what failed is taken back'),
  },
  {
    name: 'a pod network that is left out becomes flannel for hosts that join',
    file: 'src/operations/resolve.ts',
    from: 'spec.addons?.network ?? applied?.addons?.network ??',
    to: 'spec.addons?.network ??',
    witness: unit('src/operations/infer.test.ts', 'the pod network, which stays'),
  },
  {
    name: 'a reset leaves what kube-router put into chains of everybody',
    file: 'ansible/roles/network/files/undo.sh',
    from: '|--comment \\"($ours)-ROUTER rule ',
    to: '',
    witness: unit('lab/manifest.test.ts', 'rules of kube-router'),
  },
  {
    name: 'a reset takes sets of addresses of others',
    file: 'ansible/roles/network/files/undo.sh',
    from: '^(inet6:)?($sets)-[A-Z2-7]{16}',
    to: '',
    witness: unit('lab/manifest.test.ts', 'go with the network, those of others stay'),
  },
  {
    name: 'what sudo refuses taken for what the host says',
    file: 'src/ssh/connection.ts',
    from: "  throw new SshError('SudoRefused'",
    to: "  if (timeoutMs > 0) return result;\n  throw new SshError('SudoRefused'",
    witness: unit('src/precheck/run.test.ts', 'whose user may not become root'),
  },
  {
    name: 'root needs sudo',
    file: 'src/ssh/connection.ts',
    from: "user === 'root'\n",
    to: "user === ''\n",
    witness: unit('src/ssh/sudo.test.ts', 'never calls sudo'),
  },
  {
    name: 'a file of manifests that somebody edited is applied',
    file: 'src/controller/cluster/stores/manifests.ts',
    from: 'if (sum !== sha256)',
    to: 'if (sum.length !== sha256.length)',
    witness: {
      project: 'api',
      file: 'test/conformance/manifests.test.ts',
      test: 'that somebody edits after the creation was accepted',
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
