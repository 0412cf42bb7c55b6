import { describe, expect, it } from 'vitest';
import { hookKey } from '#api/hooks.ts';
import { type Spec, specSchema } from '#api/kubernetes-cluster.ts';
import { create } from './create.ts';
import { hooksOf } from './hooks.ts';
import { operations } from './index.ts';
import { infer } from './infer.ts';
import { planFor } from './plan-for.ts';
import { outlineOf, planHash } from './plan-hash.ts';
import { validateSpec } from './validate.ts';

const file = (key: string) => ({ configMap: 'hooks', key, sha256: 'a'.repeat(64) });
const spec = (hooks?: Spec['hooks']): Spec => ({
  cluster: { masterList: [{ ip: '10.0.0.1' }] },
  ...(hooks ? { hooks } : {}),
});
const offer = { versions: ['v1.34.4'] };
const planned = (wanted: Spec) =>
  planFor(create, { spec: wanted, applied: undefined, hosts: [], offer: { ...offer, hooks: true } });

describe('hooks', () => {
  it('have a field for each operation except deletion', () => {
    const wanted = Object.fromEntries(operations.map(({ name }) => [hookKey('pre', name), [file('a')]]));
    const { hooks = {} } = specSchema.parse(spec(wanted));
    const known = operations.filter(({ name }) => hooks[hookKey('pre', name)] !== undefined);
    expect(known.map(({ name }) => name)).toEqual(
      operations.map(({ name }) => name).filter((name) => name !== 'delete'),
    );
  });

  it('are returned for one operation, in order', () => {
    const hooks = { preCreate: [file('a'), file('b')], postCreate: [file('c')], preScaleUp: [file('d')] };
    expect(hooksOf('create', { hooks }).map(({ name, key }) => `${name} ${key}`)).toEqual([
      'preCreate[0] a',
      'preCreate[1] b',
      'postCreate[0] c',
    ]);
    expect(hooksOf('scale-up', { hooks }).map(({ name }) => name)).toEqual(['preScaleUp[0]']);
    expect(hooksOf('delete', { hooks })).toEqual([]);
  });

  it('are refused if the installation does not allow hooks', () => {
    const problems = validateSpec(spec({ preCreate: [file('a')] }), offer);
    expect(problems).toEqual([{ field: 'spec.hooks', reason: expect.stringContaining('--allow-hooks') }]);
    expect(validateSpec(spec({ preCreate: [] }), offer)).toEqual([]);
    expect(validateSpec(spec({ preCreate: [file('a')] }), { ...offer, hooks: true })).toEqual([]);
  });

  it('change the plan hash, and cause a warning', () => {
    const [without, one, other] = [
      spec(),
      spec({ postCreate: [file('a')] }),
      spec({ postCreate: [file('b')] }),
    ];
    const hashes = [without, one, other].map((wanted) => planHash('create', planned(wanted), 0));
    expect(new Set(hashes).size).toBe(3);
    const plan = planned(one);
    expect(outlineOf(plan, 0).steps.at(-1)).toBe('Hook postCreate[0]');
    expect(plan.warnings).toEqual([
      {
        field: 'spec.hooks.postCreate[0]',
        reason: 'runs key a of ConfigMap hooks as root on hosts of the plan',
      },
    ]);
  });

  it('start nothing when they are edited', () => {
    expect(infer(spec(), spec({ preCreate: [file('a')] }))).toEqual({ kind: 'nothing' });
  });
});
