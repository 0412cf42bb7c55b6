import { expect, it } from 'vitest';
import { type Spec, specSchema } from '#api/kubernetes-cluster.ts';
import type { PinnedFile } from '#api/pinned-file.ts';
import { create } from './create.ts';
import { infer } from './infer.ts';
import { APPLY_MANIFESTS } from './manifests.ts';
import { type Plan, planFor } from './plan-for.ts';
import { planHash } from './plan-hash.ts';
import { resolveSpec } from './resolve.ts';
import { scaleUp } from './scale-up.ts';
import { records } from './testing/planned.fixture.ts';

const offer = { versions: ['v1.34.4'] };
const file = (key: string, sum = 'a'): PinnedFile => ({ configMap: 'addons', key, sha256: sum.repeat(64) });
const spec = (manifests?: PinnedFile[], ...nodes: number[]): Spec => ({
  cluster: {
    masterList: [{ ip: '10.0.0.1' }],
    nodeList: nodes.map((last) => ({ ip: `10.0.0.${last}` })),
  },
  ...(manifests ? { addons: { manifests } } : {}),
});
const creation = (wanted: Spec): Plan =>
  planFor(create, { spec: wanted, applied: undefined, hosts: [], offer });
const steps = (plan: Plan) => plan.steps.map(({ name }) => name);

it('applies manifests at the end of a creation, on the control plane', () => {
  const plan = creation(spec([file('crds.yaml')], 2));
  expect(steps(plan).slice(-3)).toEqual(['Wait for the cluster', APPLY_MANIFESTS, 'Fetch the kubeconfig']);
  expect(plan.steps.find(({ name }) => name === APPLY_MANIFESTS)?.hosts).toEqual(['10.0.0.1']);
  for (const none of [spec(undefined, 2), spec([], 2)]) {
    expect(steps(creation(none))).not.toContain(APPLY_MANIFESTS);
    expect(creation(none).warnings).toEqual([]);
  }
});

it('names manifests in a warning, and changes the plan hash with their content', () => {
  const [plan, other] = [creation(spec([file('crds.yaml')])), creation(spec([file('crds.yaml', 'b')]))];
  expect(plan.warnings).toEqual([
    {
      field: 'spec.addons.manifests',
      reason: 'files are applied with the rights of an administrator of the cluster: addons/crds.yaml',
    },
  ]);
  expect(planHash('create', other, 0)).not.toBe(planHash('create', plan, 0));
});

it('applies manifests in no other operation', () => {
  const applied = resolveSpec(spec([file('crds.yaml')]), offer, undefined);
  const wanted = spec([file('crds.yaml')], 2);
  const plan = planFor(scaleUp, { spec: wanted, applied, hosts: records(applied), offer });
  expect(plan.refusals).toEqual([]);
  expect(steps(plan)).not.toContain(APPLY_MANIFESTS);
  expect(plan.warnings).toEqual([]);
});

it('keeps omitted manifests, and refuses to change them', () => {
  const applied = spec([file('crds.yaml'), file('rest.yaml')]);
  expect(infer(applied, spec())).toEqual({ kind: 'nothing' });
  expect(infer(applied, applied)).toEqual({ kind: 'nothing' });
  expect(infer(spec(), spec([]))).toEqual({ kind: 'nothing' });
  expect(resolveSpec(spec(), offer, undefined, applied).addons?.manifests).toEqual(applied.addons?.manifests);
  const others = [[], [file('crds.yaml')], [file('crds.yaml', 'b'), file('rest.yaml')]];
  for (const edited of others)
    expect(infer(applied, spec(edited))).toMatchObject({
      kind: 'not-offered',
      message: 'spec.addons.manifests cannot be changed yet; put back what the cluster was made with',
    });
  expect(infer(spec(), spec([file('crds.yaml')]))).toMatchObject({ kind: 'not-offered' });
});

it('refuses the same manifest twice', () => {
  const twice = creation(spec([file('a.yaml'), file('b.yaml'), file('a.yaml', 'b')]));
  expect(twice.refusals).toEqual([
    {
      field: 'spec.addons.manifests[2]',
      value: 'addons/a.yaml',
      reason: 'names the same file as spec.addons.manifests[0]; name each once',
    },
  ]);
});

it.each<[string, { [K in keyof PinnedFile]?: string | undefined }, RegExp]>([
  ['a name that no ConfigMap has', { configMap: 'Addons' }, /is not a name of a ConfigMap/],
  ['a key that no ConfigMap has', { key: '../a' }, /is not a key of a ConfigMap/],
  ['another kind of sum', { sha256: 'abc' }, /is not a SHA-256/],
  ['no sum', { sha256: undefined }, /sha256/],
])('refuses a manifest with %s', (_what, change, why) => {
  const wanted = { ...spec(), addons: { manifests: [{ ...file('a.yaml'), ...change }] } };
  expect(specSchema.safeParse(wanted).error?.message).toMatch(why);
});

it('accepts at most 20 manifests', () => {
  const many = Array.from({ length: 21 }, (_of, index) => file(`${index}.yaml`));
  expect(specSchema.safeParse(spec(many.slice(1))).success).toBe(true);
  expect(specSchema.safeParse(spec(many)).success).toBe(false);
});
