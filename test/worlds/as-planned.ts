import { expect } from 'vitest';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import type { TestOperator } from './operator.ts';

/** Returns the record of the cluster's last operation. */
export async function recordOf(
  { client, namespace, get }: TestOperator,
  cluster: string,
): Promise<Record<string, string>> {
  const { id, name } = (await get(cluster))?.status?.operation ?? {};
  const { data } = await client.get<ConfigMap>(CONFIG_MAPS, { namespace, name: `kube-${name}-${id}` });
  return data ?? {};
}

/** Expects that the record of the last operation has a plan and a result, without a difference. */
export async function expectAsPlanned(operator: TestOperator, cluster: string): Promise<void> {
  const { plan, deed: hostResult, difference } = await recordOf(operator, cluster);
  expect([plan, hostResult]).toEqual([
    expect.stringContaining('"steps"'),
    expect.stringContaining('"steps"'),
  ]);
  expect(difference).toBe('');
}
