import { acceptedAs, keyOf, otherCluster } from '#api/cluster-facts.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import { infer } from '#operations/infer.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { obtainKubeconfig } from '../fetch-kubeconfig.ts';
import { touchedBefore } from '../host-records.ts';
import { type Outcome, textOfProblems } from '../outcome.ts';
import { deletionRequestId } from '../requests.ts';
import { inFlight, type Request, type Snapshot } from '../snapshot.ts';
import { rehearse } from './dry-run.ts';
import { pruning } from './history.ts';
import { duePointing } from './point-kubeconfig.ts';

export type Rule = (snapshot: Snapshot) => Outcome;

/** Reports that phase and operation contradict each other, without a guess: only a user who edits status can cause that. */
export const phaseMismatch: Rule = (snapshot) => ({
  kind: 'rest',
  stall: {
    reason: 'Unexpected',
    message: `phase "${snapshot.cluster.status?.phase ?? ''}" does not fit the operation in status; a user edited it. By kubectl edit --subresource=status, ${inFlight(snapshot) ? 'put both back as they were before' : 'set the phase to Running or Failed'}`,
  },
});

const stall =
  (reason: string, message: (snapshot: Snapshot) => string): Rule =>
  (snapshot) => ({ kind: 'rest', stall: { reason, message: message(snapshot) } });

export const conflict = stall('IdentityConflict', ({ binding, clusterId, cluster }) =>
  binding.kind === 'foreign'
    ? `cluster-id ${clusterId} belongs to ${otherCluster(binding.to, keyOf(cluster).namespace)}; make the copy without the annotation`
    : `Secret cluster-${clusterId} is lost: if its cluster exists, restore that, and delete nothing before; else make the object without annotation ${annotations.clusterId}`,
);
export const invalid = stall('InvalidSpec', ({ problems }) => textOfProblems(problems));
export const paused = stall('Paused', () => 'spec.paused is set; nothing new starts');
export const unconfirmed = stall('NeedsConfirmation', ({ applied, cluster }) => {
  const inference = applied ? infer(applied, cluster.spec) : undefined;
  if (inference?.kind === 'needs-confirmation') {
    const id = cluster.metadata.annotations?.[annotations.requestId] ?? '';
    // Otherwise the annotation would get the answer of the earlier request.
    const was = acceptedAs(cluster, {
      word: inference.operation.values.asked,
      requestId: id,
      specHash: specHashOf(cluster.spec),
    });
    return `${inference.message}, by annotation ${annotations.operation}${was ? `, and a new ${annotations.requestId}: "${id}" was for the same before` : ''}`;
  }
  return `the spec was asked for before; set ${annotations.operation} and a new ${annotations.requestId} to have it done again`;
});
export const notOffered = stall('NotOffered', ({ applied, cluster, request }) => {
  if (request) return `the operation "${request.word}" is not implemented`;
  const inference = applied ? infer(applied, cluster.spec) : undefined;
  return inference?.kind === 'not-offered' ? inference.message : 'the change is not offered';
});

export const mendKubeconfig: Rule = (snapshot) => {
  const pointing = duePointing(snapshot);
  return pointing ? { kind: 'act', effects: [pointing] } : obtainKubeconfig(snapshot);
};

export const letGo: Rule = ({ attempts }) => ({
  kind: 'act',
  effects: attempts.length > 0 ? [{ kind: 'discard', attempts }, { kind: 'let-go' }] : [{ kind: 'let-go' }],
});
export const bind: Rule = () => ({ kind: 'act', effects: [{ kind: 'bind' }, { kind: 'adopt' }] });
export const removeLeftovers: Rule = ({ attempts }) => ({
  kind: 'act',
  effects: [{ kind: 'discard', attempts }],
});

/** Accepts a request. `terminating` deletes the object: hosts are reset only under a deletionTimestamp. */
export const accept: Rule = ({ request }) =>
  request?.operation === 'delete'
    ? { kind: 'act', effects: [{ kind: 'delete-object' }] }
    : request?.operation
      ? { kind: 'accept', operation: request.operation, request }
      : { kind: 'rest' };

export const acceptDeletion: Rule = (snapshot) => {
  const { cluster } = snapshot;
  // Afterwards the operation that the deletion ends is unknown, and so are the hosts that it may have changed.
  const [touched, ...more] = touchedBefore(snapshot);
  if (touched) return { kind: 'act', effects: [touched, ...more] };
  const request: Request = {
    word: OPERATION_VALUES.delete.asked,
    requestId: deletionRequestId(cluster),
    specHash: specHashOf(cluster.spec),
    operation: 'delete',
  };
  return { kind: 'accept', operation: 'delete', request };
};

export const acceptDeclared: Rule = (snapshot) => {
  const request = declaredRequest(snapshot);
  return request?.operation ? { kind: 'accept', operation: request.operation, request } : { kind: 'rest' };
};

/** Returns the request that an edit without an operation annotation implies. */
function declaredRequest({ applied, cluster }: Snapshot): Request | undefined {
  const inference = applied ? infer(applied, cluster.spec) : undefined;
  if (inference?.kind !== 'operation') return undefined;
  const specHash = specHashOf(cluster.spec);
  const { name } = inference.operation;
  // The hash names the request: the same spec is never inferred twice.
  return { word: OPERATION_VALUES[name].asked, requestId: `declared-${specHash}`, specHash, operation: name };
}

export const dryRun: Rule = (snapshot) => {
  if (snapshot.request) return rehearse(snapshot, snapshot.request);
  const declared = declaredRequest(snapshot);
  if (!declared) return { kind: 'rest' };
  // A dry run may be requested again; an operation is carried out once.
  const asked = snapshot.cluster.metadata.annotations?.[annotations.requestId] ?? '';
  return rehearse(snapshot, { ...declared, requestId: asked === '' ? declared.requestId : asked });
};

/** Writes the result of an earlier request back to the annotation. A cluster that exists counts as created. */
export const answerAgain: Rule = ({ request, cluster, applied }) => {
  const values = request?.operation ? OPERATION_VALUES[request.operation] : undefined;
  if (!request || !values) return { kind: 'rest' };
  const record = acceptedAs(cluster, request);
  const result = applied && request.operation === 'create' ? 'finished' : (record?.result ?? 'finished');
  return { kind: 'act', effects: [{ kind: 'answer', word: values[result], applied: false }] };
};

/** Performs the second write of an operation's end; after a deletion, removes all that remains. */
export const recordResult: Rule = ({ operation, attempts, cluster }) => {
  if (!operation?.result) return { kind: 'rest' };
  if (operation.name === 'delete' && operation.result === 'finished') {
    return { kind: 'act', effects: [{ kind: 'discard', attempts }, { kind: 'let-go' }] };
  }
  const record = [
    { kind: 'record' as const, result: operation.result },
    ...pruning(operation, cluster.status?.requests ?? []),
  ] as const;
  const applied = operation.result === 'finished';
  const answer = {
    kind: 'answer' as const,
    word: OPERATION_VALUES[operation.name][operation.result],
    applied,
  };
  if (applied) return { kind: 'act', effects: [...record, answer] };
  // The answer shows what was applied. Another end sets `recorded`, because the annotation may already be the next request.
  return { kind: 'act', effects: operation.recorded ? [answer] : [...record, { kind: 'recorded' }] };
};
