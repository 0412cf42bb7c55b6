import { describe, expect, it } from 'vitest';
import { validateSpec } from './validate.ts';

const hosts = (count: number) => Array.from({ length: count }, (_, index) => ({ ip: `10.0.0.${index + 1}` }));
const problemsOf = (masters: number) =>
  validateSpec({ cluster: { masterList: hosts(masters) } }, { versions: ['v1.34.4'] });

describe('the number of control plane hosts', () => {
  it.each([1, 3, 5])('%i is accepted', (count) => {
    expect(problemsOf(count)).toEqual([]);
  });

  it.each([
    [0, 'is required; name 1, 3 or 5 control plane hosts'],
    [2, '2 members bear the loss of 0 like 1 do; name 1, 3 or 5'],
    [4, '4 members bear the loss of 1 like 3 do; name 1, 3 or 5'],
    [7, 'more than 5 members only slow it; name 1, 3 or 5'],
  ])('%i is refused, with the reason', (count, reason) => {
    expect(problemsOf(count)).toEqual([
      expect.objectContaining({
        field: 'spec.cluster.masterList',
        reason: expect.stringContaining(reason),
      }),
    ]);
  });
});
