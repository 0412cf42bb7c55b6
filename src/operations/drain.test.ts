import { describe, expect, it } from 'vitest';
import type { Drain } from '#api/drain.ts';
import { specSchema } from '#api/kubernetes-cluster.ts';
import { drainVars } from '#protocol/drain-vars.ts';
import { infer } from './infer.ts';
import { planFor } from './plan-for.ts';
import { planHash } from './plan-hash.ts';
import { replace } from './replace.ts';
import { scaleDown } from './scale-down.ts';
import { scaleUp } from './scale-up.ts';
import { specHashOf } from './spec-hash.ts';
import { ip, records, spec } from './testing/planned.fixture.ts';
import { validateSpec } from './validate.ts';

const offer = { versions: ['v1.34.4'] };
const from = spec([1], [7, 8]);
const shrunk = (drain?: Drain) => spec([1], [7], drain ? { drain } : {});
const planned = (drain?: Drain) =>
  planFor(scaleDown, { spec: shrunk(drain), applied: from, hosts: records(from), offer });
const problems = (drain: Drain, timeout?: string) =>
  validateSpec(spec([1], [7], { drain, ...(timeout ? { timeout_mins: timeout } : {}) }), offer).map(
    ({ field, value }) => `${field}: ${value}`,
  );

describe('settings of a drain', () => {
  it('may be edited at any time without an operation', () => {
    const edited = spec([1], [7, 8], { drain: { force: true } });
    expect(infer(from, edited)).toEqual({ kind: 'nothing' });
    expect(specHashOf(edited)).toBe(specHashOf(from));
    expect(planFor(scaleUp, { spec: edited, applied: from, hosts: records(from), offer }).refusals).toEqual(
      [],
    );
  });

  it('cause warnings only in a plan that drains', () => {
    const both = { force: true, deleteEmptyDirData: true };
    expect(planned(both).warnings.map(({ field }) => field)).toEqual([
      'spec.cluster.drain.force',
      'spec.cluster.drain.deleteEmptyDirData',
    ]);
    expect(planned({ force: false, timeoutSeconds: 5 }).warnings).toEqual([]);
    const grown = spec([1], [7, 8, 9], { drain: both });
    expect(planFor(scaleUp, { spec: grown, applied: from, hosts: records(from), offer }).warnings).toEqual(
      [],
    );
  });

  it('change the plan hash if nodes leave', () => {
    const hash = (drain?: Drain) => planHash('scale-down', planned(drain), 1);
    expect(hash({ force: true })).not.toBe(hash());
    expect(hash({ timeoutSeconds: 5 })).not.toBe(hash({ timeoutSeconds: 6 }));
  });

  it('reach the playbook as its variables', () => {
    expect(drainVars({ timeoutSeconds: 5, force: true, deleteEmptyDirData: false })).toEqual({
      drain_seconds: 5,
      drain_force: true,
      drain_delete_emptydir_data: false,
    });
    expect(drainVars(undefined)).toEqual({});
  });

  it('must end before the timeout of the operation', () => {
    expect(problems({ timeoutSeconds: 3600 })).toEqual(['spec.cluster.drain.timeoutSeconds: 3600']);
    expect(problems({ timeoutSeconds: 3599 })).toEqual([]);
    expect(problems({ timeoutSeconds: 3600 }, '61')).toEqual([]);
  });

  it('are whole seconds, a day at most', () => {
    const valid = (timeoutSeconds: unknown) =>
      specSchema.safeParse({ cluster: { drain: { timeoutSeconds } } }).success;
    expect([0, 1, 86_400, 86_401, 1.5, '60'].map(valid)).toEqual([false, true, true, false, false, false]);
  });

  it('may be part of a request that removes hosts', () => {
    const drain = { force: true };
    const present = { spec: from, applied: from };
    const body = { nodeList: [{ ip: ip(7) }], drain };
    expect(scaleDown.request.edit(present, body).change).toMatchObject({ drain });
    const swap = { from: ip(8), to: { ip: ip(9) }, drain };
    expect(replace.request.edit(present, swap).change).toMatchObject({ drain });
    expect(replace.request.edit(present, { retry: true, drain }).change).toEqual({ drain });
  });
});
