import { describe, expect, it } from 'vitest';
import { objections, reportFrom } from './report.ts';

const spec = (text: string, State: string, more: Record<string, unknown> = {}) => ({
  ContainerHierarchyTexts: ['[sig-network] DNS'],
  LeafNodeType: 'It',
  LeafNodeText: text,
  State,
  RunTime: 1.5e9,
  ...more,
});
const reportOf = (...SpecReports: unknown[]) =>
  reportFrom(JSON.stringify([{ SuiteDescription: 'Kubernetes e2e suite', SpecReports }]));
const NAME = '[sig-network] DNS should provide DNS';

describe('a report of a suite', () => {
  it('has the full name, the state and the time of each spec', () => {
    const { suite, specs } = reportOf(spec('should provide DNS', 'passed'));
    expect(suite).toBe('Kubernetes e2e suite');
    expect(specs).toMatchObject([{ name: NAME, state: 'passed', seconds: 1.5 }]);
  });

  it('is refused if it holds no suite, or two', () => {
    expect(() => reportFrom('[]')).toThrow('not of one suite');
    const one = { SuiteDescription: 'a', SpecReports: [] };
    expect(() => reportFrom(JSON.stringify([one, one]))).toThrow('not of one suite');
  });
});

describe('the listed specs', () => {
  it('pass if each passed, even if others failed', () => {
    const report = reportOf(spec('should provide DNS', 'passed'), spec('another', 'failed'));
    expect(objections(report, [NAME])).toEqual([]);
  });

  it.each(['failed', 'skipped', 'pending', 'timedout', 'interrupted', 'panicked'])(
    'do not pass if one is %s',
    (state) => {
      const report = reportOf(spec('should provide DNS', state, { Failure: { Message: 'no answer\nat …' } }));
      expect(objections(report, [NAME])).toEqual([`${state}: ${NAME}: no answer`]);
    },
  );

  it('do not pass if one is missing', () => {
    expect(objections(reportOf(), [NAME])).toEqual([`not there: ${NAME}`]);
  });

  it('do not pass if the setup of the suite failed', () => {
    const before = {
      ...spec('', 'failed', { Failure: { Message: '\u001b[1mno node is ready\u001b[0m\nat …' } }),
      ContainerHierarchyTexts: null,
      LeafNodeType: 'SynchronizedBeforeSuite',
    };
    const report = reportOf(before, before, spec('should provide DNS', 'passed'));
    expect(objections(report, [NAME])).toEqual(['SynchronizedBeforeSuite: no node is ready']);
  });
});
