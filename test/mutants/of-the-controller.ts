import type { Mutant, Witness } from './mutant.ts';

const CLUSTER = 'src/controller/cluster';
const life = (test: string, file = 'table'): Witness => ({
  project: 'unit',
  file: `${CLUSTER}/decide/${file}.test.ts`,
  test,
});
const lived = (test: string): Witness => ({
  project: 'api',
  file: 'test/conformance/cluster-lifecycle.test.ts',
  test,
});
const meanwhile = (test: string): Witness => ({
  project: 'api',
  file: 'test/conformance/preconditions.test.ts',
  test,
});

const planned = (test: string): Witness => ({
  project: 'unit',
  file: 'src/operations/plan.test.ts',
  test,
});

/** Decisions of docs/contract.md that the cluster controller keeps. */
export const ofTheController: readonly Mutant[] = [
  {
    name: 'no precondition on delete',
    file: `${CLUSTER}/stores/hosts.ts`,
    from: 'await client.delete(HOSTS, keyOf(ip), { preconditions: { uid, resourceVersion } });',
    to: 'await client.delete(HOSTS, keyOf(ip), { preconditions: uid && resourceVersion ? {} : {} });',
    witness: meanwhile('a host is not released that another cluster took meanwhile'),
  },
  {
    name: 'no precondition on a status write',
    file: `${CLUSTER}/finish.ts`,
    from: 'return client.updateStatus<KubernetesCluster>(KUBERNETES_CLUSTERS, { ...cluster, status });',
    to: `const { namespace = '', name = '' } = cluster.metadata;
  const fresh = await client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name });
  return client.updateStatus<KubernetesCluster>(KUBERNETES_CLUSTERS, { ...fresh, status });`,
    witness: meanwhile('a status is not written over a word that came meanwhile'),
  },
  {
    name: 'no precondition on a metadata patch',
    file: `${CLUSTER}/perform.ts`,
    from: 'const patch = { metadata: { ...metadata, resourceVersion } };',
    to: 'const patch = { metadata: resourceVersion ? metadata : {} };',
    witness: meanwhile('a word is not answered over one that came meanwhile'),
  },
  {
    name: 'no precondition on the sequence',
    file: `${CLUSTER}/stores/anchors.ts`,
    from: 'const patch = { metadata: { resourceVersion }, data: secretData(texts) };',
    to: 'const patch = { metadata: {}, data: secretData(texts) };',
    witness: meanwhile('a sequence is not taken twice'),
  },
  {
    name: 'the holder of a host unchecked',
    file: `${CLUSTER}/stores/hosts.ts`,
    from: "if (stateOf(found) !== 'Unclean') return undefined;",
    to: '',
    witness: lived('takes no host of another cluster'),
  },
  {
    name: 'request accepted twice',
    file: `${CLUSTER}/decide/signal.ts`,
    from: 'if (!isNew(snapshot) || (request?.word === WORDS.create.asked && applied)) return',
    to: 'if (request?.word === WORDS.create.asked && applied) return',
    witness: life('does not run a request again that others have followed'),
  },
  {
    name: 'word overwritten at the end',
    file: `${CLUSTER}/perform.ts`,
    from: '...(answersOther ? {} : { [annotations.operation]: word }),',
    to: '...(answersOther ? { [annotations.operation]: word } : { [annotations.operation]: word }),',
    witness: lived('keeps a word that comes while it works, and does it next'),
  },
  {
    name: 'sequence from status',
    file: `${CLUSTER}/finish.ts`,
    from: '    sequence,\n    attempt: 1,',
    to: '    sequence: (cluster.status?.operation?.sequence ?? 0) + (sequence > 0 ? 1 : 0),\n    attempt: 1,',
    witness: lived('goes on counting from its anchor when its status is lost'),
  },
  {
    name: 'finalizer dropped early',
    file: `${CLUSTER}/decide/table.ts`,
    from: 'deleted: rules.acceptDeletion,',
    to: 'deleted: rules.letGo,',
    witness: life('deletes in every phase, and never in the name of another'),
  },
  {
    name: 'hosts reset without a deletion',
    file: `${CLUSTER}/decide/rules.ts`,
    from: "? { kind: 'act', effects: [{ kind: 'delete-object' }] }",
    to: "? { kind: 'accept', operation: 'delete', request }",
    witness: life('is a DELETE of the object when it is asked by word', 'deletion'),
  },
  {
    name: 'identity conflict ignored',
    file: `${CLUSTER}/decide/signal.ts`,
    from: "if (binding.kind === 'foreign' || binding.kind === 'missing') return 'conflict';",
    to: '',
    witness: life('deletes in every phase, and never in the name of another'),
  },
  {
    name: 'anchor not consulted',
    file: `${CLUSTER}/stores/anchors.ts`,
    from: "if (to !== textOf(cluster)) return { kind: 'foreign', to: to ?? 'nobody' };",
    to: '',
    witness: lived('does nothing in the name of a copy, though it has the finalizer too'),
  },
  {
    name: 'attempt number reused',
    file: `${CLUSTER}/decide/work-rules.ts`,
    from: "operation: { attempt: status.attempt + 1, step: 'starting', notBefore },",
    to: "operation: { attempt: status.attempt, step: 'starting', notBefore },",
    witness: { plan: 'create+delete,job-deleted@create:run:1' },
  },
  {
    name: 'lost attempt restarted before its bound',
    file: `${CLUSTER}/decide/signal.ts`,
    from: "attempt.kind !== 'running' || now.getTime() >= lostAt(attempt)",
    to: "attempt.kind !== 'running' || attempt.endsBy !== undefined",
    witness: life('counts an attempt as lost when its pod outlives its end, because its node is away'),
  },
  {
    name: 'tombstone not written',
    file: `${CLUSTER}/perform.ts`,
    from: 'await deps.anchors.drop(clusterId, hosts.length > 0);',
    to: 'await deps.anchors.drop(clusterId, false);',
    witness: lived('ends its deletion though a host is away, and remembers that host'),
  },
  {
    name: 'what a vanished object left is left',
    file: `${CLUSTER}/controller.ts`,
    from: 'return settleVanished(key, { client, anchors, hosts, installer, anchorsMarked, log });',
    to: 'return undefined;',
    witness: { plan: 'create+delete,crash-after@delete:PATCH/kubernetesclusters/demo:1' },
  },
  {
    name: 'status written though nothing is new',
    file: `${CLUSTER}/finish.ts`,
    from: 'if (canonicalJson(status) === canonicalJson(cluster.status)) return undefined;',
    to: '',
    witness: { plan: 'create+delete' },
  },
  {
    name: 'a host that nobody reached is kept for a reset',
    file: 'src/operations/plan.ts',
    from: "if (action === 'leave' && !wasTouched(record)) release.push(record.spec.ip);",
    to: "if (action === 'leave' && wasTouched(record) === undefined) release.push(record.spec.ip);",
    witness: planned('gives back a host that was never reached, when its name goes to another'),
  },
  {
    name: 'a node name had twice',
    file: 'src/operations/plan.ts',
    from: 'if (!other || other.spec.ip === member.ip) return [];',
    to: 'if (!other || other.spec.ip !== member.ip || other) return [];',
    witness: planned('refuses a name that a host has which may carry something of the cluster'),
  },
  {
    name: 'roles and names of the first try kept',
    file: `${CLUSTER}/stores/hosts.ts`,
    from: "if (stateOf(found) === 'Joined') return found;",
    to: 'if (found.spec.ip !== undefined) return found;',
    witness: { plan: 'refused+swapped+delete' },
  },
  {
    name: 'a machine that was not the one that joined is expected by nobody',
    file: 'src/operations/plan.ts',
    from: "return record && id !== undefined && ['Joined', 'Leaving', 'Lost'].includes(stateOf(record))",
    to: "return record && id === '' && ['Joined', 'Leaving', 'Lost'].includes(stateOf(record))",
    witness: planned('of a host that joined that it is the same machine'),
  },
  {
    name: 'a host that no report names counts as clean',
    file: `${CLUSTER}/decide/settle.ts`,
    from: 'if (host?.ok) return undefined;',
    to: 'if (host?.ok !== false) return undefined;',
    witness: life('lets no host pass for clean that no report names', 'deletion'),
  },
  {
    name: 'another machine counts as the host that could not be reset',
    file: `${CLUSTER}/decide/settle.ts`,
    from: "const state = CHANGED.test(why) ? 'Lost' : 'Unclean';",
    to: "const state = CHANGED.test(why) ? 'Unclean' : 'Unclean';",
    witness: life('does not wipe another machine that answers at the address of a host', 'deletion'),
  },
  {
    name: 'what a failed run says of hosts is forgotten',
    file: `${CLUSTER}/decide/settle.ts`,
    from: 'if (notes.length === 0) return undefined;',
    to: 'if (notes.length >= 0) return undefined;',
    witness: life('remembers of a failed run who joined, what each host showed, and what it said', 'settle'),
  },
  {
    name: 'a kubeconfig fetched every half minute for ever',
    file: `${CLUSTER}/decide/settle.ts`,
    from: 'FETCH_RETRY_MS * 2 ** (tries - 1)',
    to: 'FETCH_RETRY_MS * 1 ** (tries - 1)',
    witness: life('does not keep, over and over, what was fetched and is no kubeconfig', 'settle'),
  },
  {
    name: "somebody else's kubeconfig taken for the cluster's",
    file: 'src/api/own-secret.ts',
    from: 'metadata.labels?.[labels.purpose] !== purpose || owners.length === 0 || !isOfCluster',
    to: 'purpose === undefined',
    witness: {
      project: 'api',
      file: 'test/conformance/what-is-missing.test.ts',
      test: 'is neither read nor written',
    },
  },
  {
    name: 'a spec that was had before is never inferred again',
    file: `${CLUSTER}/decide/signal.ts`,
    from: 'specHash === hash && sequence > since',
    to: 'specHash === hash && sequence > since * 0',
    witness: life('adds again what was removed since, though that very spec was had before'),
  },
  {
    name: 'a run that cannot begin is waited for in silence',
    file: `${CLUSTER}/decide/work-rules.ts`,
    from: "if (attempt.kind === 'running' && attempt.blocked) {",
    to: "if (attempt.kind === 'running' && attempt.blocked && now.getTime() < 0) {",
    witness: life('says at once why a run cannot begin'),
  },
  {
    name: 'a run whose image was replaced is waited for until its deadline',
    file: `${CLUSTER}/decide/signal.ts`,
    from: "return attempt.blocked?.outdated ? 'lost' : 'running';",
    to: "return 'running';",
    witness: life('goes on with the next attempt where a run was never begun'),
  },
  {
    name: 'a cluster that holds no host waits for its Secret',
    file: `${CLUSTER}/decide/signal.ts`,
    from: "if (isDeleting(snapshot) && hasNothingToReset(snapshot)) return 'forgotten';",
    to: '',
    witness: {
      project: 'api',
      file: 'test/conformance/what-is-missing.test.ts',
      test: 'a cluster that never touched a host is deleted at once, though its Secret is missing',
    },
  },
  {
    name: 'a dry run begins',
    file: `${CLUSTER}/decide/signal.ts`,
    from: "if ((spoken === 'asked' || spoken === 'declared') && isDryRun(snapshot)) return 'rehearsed';",
    to: '',
    witness: life('looks at the hosts by a run without a playbook, and holds none of them', 'dry-run'),
  },
  {
    name: 'a dry run overlooks the hosts of other clusters',
    file: `${CLUSTER}/stores/hosts.ts`,
    from: 'if (found && found.spec.clusterId !== clusterId && stateOf(found)',
    to: 'if (found && found.spec.clusterId === clusterId && stateOf(found)',
    witness: {
      project: 'api',
      file: 'test/conformance/dry-run.test.ts',
      test: 'names the cluster that has a host',
    },
  },
];
