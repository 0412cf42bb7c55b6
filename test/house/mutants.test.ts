import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planFrom } from '../faults/plan.ts';
import { nameOf, occurrences } from '../mutants/mutant.ts';
import { ofCancelAndPlans } from '../mutants/of-cancel-and-plans.ts';
import { ofControlPlanes } from '../mutants/of-control-planes.ts';
import { ofEtcd } from '../mutants/of-etcd.ts';
import { ofHealth } from '../mutants/of-health.ts';
import { ofHooks } from '../mutants/of-hooks.ts';
import { ofIngress } from '../mutants/of-ingress.ts';
import { ofItsEdges } from '../mutants/of-its-edges.ts';
import { ofNeighbours } from '../mutants/of-neighbours.ts';
import { ofNetworks } from '../mutants/of-networks.ts';
import { ofRemediation } from '../mutants/of-remediation.ts';
import { ofTheController } from '../mutants/of-the-controller.ts';
import { ofTheQueue } from '../mutants/of-the-queue.ts';

const mutants = [
  ...ofTheController,
  ...ofItsEdges,
  ...ofControlPlanes,
  ...ofEtcd,
  ...ofHealth,
  ...ofCancelAndPlans,
  ...ofHooks,
  ...ofTheQueue,
  ...ofIngress,
  ...ofRemediation,
  ...ofNetworks,
  ...ofNeighbours,
];
const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');

it('there are at least twenty mutants, each with its own name', () => {
  expect(mutants.length).toBeGreaterThanOrEqual(20);
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});

it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
  'the mutant "%s" still fits its file and its test',
  (_name, mutant) => {
    expect(occurrences(read(mutant.file), mutant)).toBe(1);
    expect(mutant.to).not.toBe(mutant.from);
    const { witness } = mutant;
    if ('plan' in witness) expect(planFrom(witness.plan).steps.length).toBeGreaterThan(0);
    else expect(read(witness.file), nameOf(witness)).toContain(witness.test);
  },
);
