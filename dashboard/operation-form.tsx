import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { call } from './api.ts';
import type { Cluster } from './cluster.ts';
import { Dialog } from './dialog.tsx';
import { type OperationKind, requestOf } from './operation-request.ts';
import { PlanResult } from './plan-result.tsx';
import { descriptionOf, type FieldSchema, fieldsOf } from './schema.ts';
import { SchemaForm, type Values } from './schema-form.tsx';
import { usePlan } from './use-plan.ts';

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
  const [description, setDescription] = useState('');
  const [typed, setTyped] = useState('');
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (request.schema === undefined) setFields([]);
    else {
      const choices = new Map(Object.entries(request.choices ?? {}));
      const chosen = (field: FieldSchema): FieldSchema => {
        const of = choices.get(field.name);
        return of === undefined ? field : { ...field, kind: 'choice', choices: of };
      };
      fieldsOf(request.schema).then(
        (all) => setFields(all.map(chosen)),
        () => setFields([]),
      );
      descriptionOf(request.schema).then(setDescription, () => setDescription(''));
    }
  }, [request]);
  // The form replaces whole lists and settings. What somebody else has changed since would be set back.
  const present = requestOf(kind, cluster);
  const isStale =
    JSON.stringify([present.path, present.replaces]) !== JSON.stringify([request.path, request.replaces]);
  const awaitsChange =
    request.needsChange !== undefined && JSON.stringify(values) === JSON.stringify(request.initial);
  // After another operation, the server refuses the hash of a plan from before.
  const { id, result } = cluster.status?.operation ?? {};
  const path = awaitsChange ? undefined : request.path;
  const planned = usePlan(request.method, path, { namespace }, values, `${id} ${result}`);
  const isFinal = request.warning !== undefined;
  const { plan, problems, isBusy: isPlanning } = planned;
  const isPossible =
    plan !== undefined &&
    !isPlanning &&
    !isStale &&
    plan.refusals.length === 0 &&
    (!isFinal || typed === name);
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
          {description !== '' && <Text size="sm">{description}</Text>}
          {fields && fields.length > 0 && (
            <SchemaForm
              fields={fields}
              first={request.first}
              values={values}
              problems={problems}
              onChange={setValues}
            />
          )}
          {awaitsChange && <Text size="sm">{request.needsChange}</Text>}
          <PlanResult
            planned={planned}
            fields={fields}
            refusal={
              isStale
                ? 'The cluster has changed since this form opened. Close it, and open it again.'
                : refusal
            }
          />
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
