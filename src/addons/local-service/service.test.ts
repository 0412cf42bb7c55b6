import { expect, it } from 'vitest';
import type { Service } from '#api/core.ts';
import { changedTo, isAsWanted } from './service.ts';

const service = (spec: Service['spec'] & object): Service => ({
  metadata: { namespace: 'n', name: 's', labels: {} },
  spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
});

it('keeps a load balancer class that another client has set', () => {
  const there = service({ loadBalancerClass: 'theirs/nlb' });
  expect(isAsWanted(there, service({}))).toBe(true);
  const wanted = service({ ports: [{ port: 81 }] });
  expect(isAsWanted(there, wanted)).toBe(false);
  expect(changedTo(there, wanted).spec).toEqual({ ...wanted.spec, loadBalancerClass: 'theirs/nlb' });
  // The API server rejects the class on a Service that is no load balancer.
  expect(changedTo(there, service({ type: 'ClusterIP' })).spec).not.toHaveProperty('loadBalancerClass');
});
