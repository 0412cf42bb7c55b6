import { describe, expect, it } from 'vitest';
import { casesFrom, policyObjections } from './cyclonus.ts';

const report = `<testsuite tests="0" failures="1" time="" name="cyclonus">
    <properties></properties>
    <testcase classname="" name="set pod selector to [&#34;a&#34;] &amp; more" time=""></testcase>
    <testcase classname="" name="simple ipblock" time="">
        <failure message="" type=""></failure>
    </testcase>
    <testcase classname="" name="simple ipblock" time=""></testcase>
</testsuite>`;

it('a report has every case in order, with its name as it was and whether it passed', () => {
  expect(casesFrom(report)).toEqual([
    { name: 'set pod selector to ["a"] & more', passed: true },
    { name: 'simple ipblock', passed: false },
    { name: 'simple ipblock', passed: true },
  ]);
});

describe('the listed cases', () => {
  const passed = (...names: string[]) => names.map((name) => ({ name, passed: true }));

  it('are fine when each has passed, as often as it is listed', () => {
    expect(policyObjections(passed('a', 'b', 'b'), ['a', 'b', 'b'])).toEqual([]);
  });

  it('are not when one has failed, was not run, or another was', () => {
    expect(policyObjections([...passed('b', 'c'), { name: 'a', passed: false }], ['a', 'b', 'b'])).toEqual([
      'failed: a',
      'listed 2 times, run 1 times: b',
      'listed 0 times, run 1 times: c',
    ]);
  });
});
