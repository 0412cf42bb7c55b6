import { Anchor, Breadcrumbs, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { call } from './api.ts';
import { PlanResult } from './plan-result.tsx';
import { type FieldSchema, fieldsOf } from './schema.ts';
import { SchemaForm, type Values } from './schema-form.tsx';
import { usePlan } from './use-plan.ts';

const FIRST = ['masterList', 'nodeList', 'kubeVersion', 'privateSSHKey', 'credentialsSecret'];
const NAME = /^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/;

/** Creates a cluster. The server checks what is typed, and the plan is shown before anything begins. */
export function CreatePage({
  namespace: initial,
  onNamespace,
}: {
  namespace: string;
  onNamespace: (namespace: string) => void;
}) {
  const [, navigate] = useLocation();
  const [fields, setFields] = useState<readonly FieldSchema[]>();
  const [name, setName] = useState('');
  const [namespace, setNamespace] = useState(initial || 'default');
  const [region, setRegion] = useState('');
  const [values, setValues] = useState<Values>({});
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    fieldsOf('createCluster').then(setFields, (error: unknown) => setRefusal(String(error)));
  }, []);
  const path = NAME.test(name)
    ? `/region/${encodeURIComponent(region || 'default')}/cluster/${name}`
    : undefined;
  const hasHosts = Array.isArray(values['masterList']) && values['masterList'].length > 0;
  const planned = usePlan('POST', hasHosts ? path : undefined, { namespace }, values);
  const { plan, problems, isBusy: isPlanning } = planned;
  const isPossible = plan !== undefined && !isPlanning && plan.refusals.length === 0;
  const submit = async () => {
    if (path === undefined) return;
    setBusy(true);
    setRefusal(undefined);
    try {
      const body = { ...values, ...(plan ? { plan: plan.hash } : {}) };
      await call('POST', path, { query: { namespace }, body });
      // The list shows the namespace of the new cluster.
      if (initial !== '' && initial !== namespace) onNamespace(namespace);
      navigate(`/cluster/${namespace}/${name}`);
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack maw={720}>
      <Breadcrumbs>
        <Anchor component={Link} href="/">
          Clusters
        </Anchor>
        <Text>New</Text>
      </Breadcrumbs>
      <Title order={2}>Create a cluster</Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isPossible) void submit();
        }}
      >
        <Stack>
          <Group grow align="flex-start">
            <TextInput
              label="Name"
              withAsterisk
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={
                name === '' || NAME.test(name) ? undefined : 'Use up to 40 lower-case letters, digits and "-"'
              }
            />
            <TextInput
              label="Namespace"
              value={namespace}
              onChange={(event) => setNamespace(event.currentTarget.value)}
            />
            <TextInput
              label="Region"
              placeholder="default"
              value={region}
              onChange={(event) => setRegion(event.currentTarget.value)}
            />
          </Group>
          {fields && (
            <SchemaForm
              fields={fields}
              first={FIRST}
              values={values}
              problems={problems}
              onChange={setValues}
            />
          )}
          <PlanResult planned={planned} fields={fields} refusal={refusal} />
          <Group>
            <Button type="submit" disabled={!isPossible} loading={isBusy}>
              Create the cluster
            </Button>
          </Group>
        </Stack>
      </form>
    </Stack>
  );
}
