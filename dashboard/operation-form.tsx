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
  | 'reconfigure'
  | 'renew'
  | 'rotate'
  | 'repair'
  | 'snapshot'
  | 'restore'
  | 'rollback'
  | 'retry'
  | 'delete';

const LISTS = ['masterList', 'nodeList', 'etcdList'] as const;

interface Form {
  title: string;
  route: string;
  /** Fields that come first. */
  first: readonly string[];
  /** Returns what the form begins with. Default: it is empty. */
  initial?: (cluster: Cluster) => Values;
  /** What is lost for good; the user types the name of the cluster below it. */
  warning?: string;
}

const presentHosts = ({ spec: { cluster } }: Cluster): Values =>
  Object.fromEntries(LISTS.flatMap((list) => (cluster[list] ? [[list, cluster[list]]] : [])));

const present = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const FORMS: Readonly<Record<Exclude<OperationKind, 'retry' | 'delete'>, Form>> = {
  scaleUp: { title: 'Add hosts', route: 'scaleup', first: ['nodeList', 'masterList'], initial: presentHosts },
  scaleDown: {
    title: 'Remove hosts',
    route: 'scaledown',
    first: ['nodeList', 'masterList'],
    initial: presentHosts,
  },
  replace: { title: 'Replace a host', route: 'replace', first: ['from', 'to'] },
  update: { title: 'Upgrade Kubernetes', route: 'update', first: ['kubeVersion'] },
  reconfigure: {
    title: 'Change settings',
    route: 'reconfigure',
    first: ['kubeadm', 'network'],
    // The request takes all settings, so those that are left out would be set back.
    initial: ({ spec }) => present({ kubeadm: spec.cluster.kubeadm, network: spec.addons?.network }),
  },
  renew: { title: 'Renew certificates', route: 'renew', first: [] },
  rotate: { title: 'Rotate keys', route: 'rotate', first: [] },
  repair: { title: 'Repair hosts', route: 'repair', first: [] },
  snapshot: { title: 'Save a snapshot of etcd', route: 'snapshot', first: [] },
  restore: {
    title: 'Restore a snapshot',
    route: 'restore',
    first: ['snapshot', 'confirmDataLossSince'],
    initial: ({ status }) => present({ snapshot: status?.etcdSnapshots?.stored?.[0]?.name }),
    warning: 'Everything that was written to the API of the cluster since the snapshot is lost.',
  },
  rollback: { title: 'Undo an unfinished upgrade', route: 'rollback', first: [] },
};

/** Routes of operations by their names in status, for a retry. */
const ROUTES: Readonly<Record<string, string>> = {
  create: '',
  'scale-up': '/scaleup',
  'scale-down': '/scaledown',
  'move-etcd': '/etcd/move',
};

interface Request {
  title: string;
  method: 'POST' | 'DELETE';
  path: string;
  /** OperationId of the schema; undefined: there are no fields. */
  schema: string | undefined;
  first: readonly string[];
  initial: Values;
  warning?: string | undefined;
}

function requestOf(kind: OperationKind, cluster: Cluster): Request {
  const path = pathOf(cluster);
  if (kind === 'delete')
    return {
      title: 'Delete the cluster',
      method: 'DELETE',
      path,
      schema: undefined,
      first: [],
      initial: {},
      warning: 'All hosts are reset, with all data of the cluster.',
    };
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
  const { title, route, first, initial = () => ({}), warning } = FORMS[kind];
  return {
    title,
    method: 'POST',
    path: `${path}/${route}`,
    schema: kind,
    first,
    initial: initial(cluster),
    warning,
  };
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
  const isFinal = request.warning !== undefined;
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
              label={`${request.warning} Type ${name} to confirm.`}
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
