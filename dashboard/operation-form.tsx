import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { call } from './api.ts';
import { type Cluster, pathOf } from './cluster.ts';
import { Dialog } from './dialog.tsx';
import { PlanResult } from './plan-result.tsx';
import { type FieldSchema, fieldsOf } from './schema.ts';
import { SchemaForm, type Values } from './schema-form.tsx';
import { usePlan } from './use-plan.ts';

export type OperationKind =
  | 'scaleUp'
  | 'scaleDown'
  | 'replace'
  | 'update'
  | 'renew'
  | 'repair'
  | 'snapshot'
  | 'rollback'
  | 'retry'
  | 'delete';

interface Form {
  title: string;
  route: string;
  /** Fields that come first. */
  first: readonly string[];
  /** Whether the lists of hosts begin with the present ones. */
  hasHosts?: boolean;
}

const FORMS: Readonly<Record<Exclude<OperationKind, 'retry' | 'delete'>, Form>> = {
  scaleUp: { title: 'Add hosts', route: 'scaleup', first: ['nodeList', 'masterList'], hasHosts: true },
  scaleDown: { title: 'Remove hosts', route: 'scaledown', first: ['nodeList', 'masterList'], hasHosts: true },
  replace: { title: 'Replace a host', route: 'replace', first: ['from', 'to'] },
  update: { title: 'Upgrade Kubernetes', route: 'update', first: ['kubeVersion'] },
  renew: { title: 'Renew certificates', route: 'renew', first: [] },
  repair: { title: 'Repair hosts', route: 'repair', first: [] },
  snapshot: { title: 'Save a snapshot of etcd', route: 'snapshot', first: [] },
  rollback: { title: 'Undo an unfinished upgrade', route: 'rollback', first: [] },
};

/** Routes of operations by their names in status, for a retry. */
const ROUTES: Readonly<Record<string, string>> = {
  create: '',
  'scale-up': '/scaleup',
  'scale-down': '/scaledown',
  'move-etcd': '/etcd/move',
};

const LISTS = ['masterList', 'nodeList', 'etcdList'] as const;

interface Request {
  title: string;
  method: 'POST' | 'DELETE';
  path: string;
  /** OperationId of the schema; undefined: there are no fields. */
  schema: string | undefined;
  first: readonly string[];
  initial: Values;
}

function requestOf(kind: OperationKind, cluster: Cluster): Request {
  const path = pathOf(cluster);
  const { cluster: spec } = cluster.spec;
  if (kind === 'delete')
    return { title: 'Delete the cluster', method: 'DELETE', path, schema: undefined, first: [], initial: {} };
  if (kind === 'retry') {
    const failed = cluster.status?.operation?.name ?? '';
    const isDeletion = failed === 'delete';
    return {
      title: `Retry ${failed}`,
      method: isDeletion ? 'DELETE' : 'POST',
      path: isDeletion ? path : `${path}${ROUTES[failed] ?? `/${failed}`}`,
      schema: undefined,
      first: [],
      initial: { retry: true },
    };
  }
  const { title, route, first, hasHosts } = FORMS[kind];
  const lists = hasHosts
    ? Object.fromEntries(LISTS.flatMap((list) => (spec[list] ? [[list, spec[list]]] : [])))
    : {};
  return { title, method: 'POST', path: `${path}/${route}`, schema: kind, first, initial: lists };
}

/** Form of an operation. It shows the plan while the user types, and requests exactly that plan. */
export function OperationForm({
  kind,
  cluster,
  onClose,
}: {
  kind: OperationKind;
  cluster: Cluster;
  onClose: () => void;
}) {
  const [request] = useState(() => requestOf(kind, cluster));
  const { namespace, name } = cluster.metadata;
  const [fields, setFields] = useState<readonly FieldSchema[]>();
  const [values, setValues] = useState<Values>(request.initial);
  const [typed, setTyped] = useState('');
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (request.schema === undefined) setFields([]);
    else fieldsOf(request.schema).then(setFields, () => setFields([]));
  }, [request.schema]);
  const planned = usePlan(request.method, request.path, { namespace }, values);
  const isFinal = request.method === 'DELETE';
  const { plan, problems, isBusy: isPlanning } = planned;
  const isPossible =
    plan !== undefined && !isPlanning && plan.refusals.length === 0 && (!isFinal || typed === name);
  const submit = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await call(request.method, request.path, {
        query: { namespace },
        body: { ...values, ...(plan ? { plan: plan.hash } : {}) },
      });
      onClose();
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog onClose={onClose} title={`${request.title}: ${name}`} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isPossible) void submit();
        }}
      >
        <Stack>
          {fields && fields.length > 0 && (
            <SchemaForm
              fields={fields}
              first={request.first}
              values={values}
              problems={problems}
              onChange={setValues}
            />
          )}
          <PlanResult planned={planned} fields={fields} refusal={refusal} />
          {isFinal && (
            <TextInput
              label={`All hosts are reset, with all data of the cluster. Type ${name} to confirm.`}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" color={isFinal ? 'red' : ''} disabled={!isPossible} loading={isBusy}>
              {request.title}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
