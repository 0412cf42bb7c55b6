import { Accordion, NumberInput, Select, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type FieldProblem, problemText } from './api.ts';
import type { FieldSchema } from './schema.ts';

export type Values = Readonly<Record<string, unknown>>;

interface HostEntry {
  ip: string;
  name?: string;
}

const isHost = (value: unknown): value is HostEntry =>
  typeof value === 'object' && value !== null && 'ip' in value && typeof value.ip === 'string';

const lineOf = ({ ip, name }: HostEntry): string => (name === undefined ? ip : `${ip} ${name}`);

/** Reads `192.0.2.11 name`. Fields that a line does not show are those of `known`. */
function hostIn(line: string, known: readonly HostEntry[]): HostEntry {
  const [ip = '', name] = line.trim().split(/\s+/);
  const before = known.find((host) => host.ip === ip);
  return { ...before, ip, ...(name === undefined ? {} : { name }) };
}

/** Returns the problems of a field, and of what is in it, as one text. */
const problemOf = (name: string, problems: readonly FieldProblem[]): string | undefined => {
  const own = problems.filter(
    ({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
  );
  const text = own.map((problem) =>
    // The value says which host it is.
    problemText({ ...problem, field: problem.field.slice(name.length).replace(/^\[\d+\]\.ip$|^\./, '') }),
  );
  return text.length > 0 ? text.join('; ') : undefined;
};

/** Names of fields for people: `masterList` is a name of the API. */
const LABELS: Readonly<Record<string, string>> = {
  masterList: 'Control planes',
  nodeList: 'Workers',
  etcdList: 'Hosts of external etcd',
  kubeVersion: 'Kubernetes version',
  privateSSHKey: 'Private SSH key',
  credentialsSecret: 'Secret with the SSH key',
  externalLoadBalancer: 'External load balancer',
  podCIDR: 'Pod network',
  serviceCIDR: 'Service network',
  imagesRegistry: 'Registry of images',
  timeoutMins: 'Time limit in minutes',
  from: 'Host that leaves',
  to: 'Host that takes its place',
  kubeadm: 'Settings of components',
  network: 'Program of the pod network',
  snapshot: 'Snapshot',
  drain: 'Eviction of pods',
  upgrade: 'Pace of the upgrade',
  allowEmpty: 'Remove the last worker too',
  confirmDataLossSince: 'Time since which changes may be lost',
};

/** Shows a field for each property of a schema. Fields that are not in `first` are below "More settings". */
export function SchemaForm({
  fields,
  first,
  values,
  problems,
  onChange,
}: {
  fields: readonly FieldSchema[];
  first: readonly string[];
  values: Values;
  problems: readonly FieldProblem[];
  onChange: (values: Values) => void;
}) {
  const show = (field: FieldSchema) => (
    <Field
      key={field.name}
      field={field}
      initial={values[field.name]}
      problem={problemOf(field.name, problems)}
      onChange={(value) => {
        const { [field.name]: _old, ...others } = values;
        onChange(value === undefined ? others : { ...values, [field.name]: value });
      }}
    />
  );
  const more = fields.filter(({ name }) => !first.includes(name));
  const ordered = first.flatMap((name) => fields.find((field) => field.name === name) ?? []);
  return (
    <Stack>
      {ordered.map(show)}
      {more.length > 0 && (
        <Accordion variant="contained">
          <Accordion.Item value="more">
            <Accordion.Control>More settings</Accordion.Control>
            <Accordion.Panel>
              <Stack>{more.map(show)}</Stack>
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      )}
    </Stack>
  );
}

function Field({
  field,
  initial,
  problem,
  onChange,
}: {
  field: FieldSchema;
  initial: unknown;
  problem: string | undefined;
  onChange: (value: unknown) => void;
}) {
  const { name, kind, description, choices, isRequired } = field;
  const known = Array.isArray(initial) ? initial.filter(isHost) : [];
  const [text, setText] = useState(() =>
    kind === 'hosts'
      ? known.map(lineOf).join('\n')
      : kind === 'host' && isHost(initial)
        ? lineOf(initial)
        : typeof initial === 'string'
          ? initial
          : kind === 'json' && initial !== undefined
            ? JSON.stringify(initial, undefined, 2)
            : '',
  );
  const [broken, setBroken] = useState<string>();
  const [present] = useState(known);
  const common = {
    label: LABELS[name] ?? name,
    description,
    error: broken ?? problem,
    withAsterisk: isRequired,
    name,
  };
  const take = (next: string) => {
    setText(next);
    if (kind === 'hosts') {
      const lines = next.split('\n').filter((line) => line.trim() !== '');
      onChange(
        next.trim() === '' && present.length === 0 ? undefined : lines.map((line) => hostIn(line, present)),
      );
    } else if (kind === 'host') onChange(next.trim() === '' ? undefined : hostIn(next, present));
    else if (kind === 'json') {
      try {
        // Of settings that were there, none are left.
        if (next.trim() === '') onChange(initial === undefined ? undefined : {});
        else onChange(JSON.parse(next));
        setBroken(undefined);
      } catch (error) {
        setBroken(error instanceof Error ? error.message : String(error));
        // The text takes the place of the former value. The server refuses it, so nothing can be requested.
        onChange(next);
      }
    } else onChange(next === '' ? undefined : next);
  };
  if (kind === 'choice')
    return (
      <Select
        {...common}
        data={[...choices]}
        defaultValue={text || null}
        clearable
        onChange={(value) => onChange(value ?? undefined)}
      />
    );
  if (kind === 'switch')
    return (
      <Switch
        label={common.label}
        description={description}
        error={problem}
        defaultChecked={initial === true}
        onChange={(event) => onChange(event.currentTarget.checked || undefined)}
      />
    );
  if (kind === 'number')
    return (
      <NumberInput
        {...common}
        onChange={(value) => onChange(typeof value === 'number' ? value : undefined)}
      />
    );
  if (kind === 'hosts' || kind === 'json' || kind === 'secret')
    return (
      <Textarea
        {...common}
        autosize
        minRows={2}
        maxRows={10}
        value={text}
        placeholder={kind === 'hosts' ? 'One address a line, for example\n192.0.2.11\n192.0.2.12 a-name' : ''}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => take(event.currentTarget.value)}
      />
    );
  return <TextInput {...common} value={text} onChange={(event) => take(event.currentTarget.value)} />;
}
