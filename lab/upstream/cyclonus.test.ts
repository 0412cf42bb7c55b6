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

it('reads each case of a report in order, with its unescaped name and its result', () => {
  expect(casesFrom(report)).toEqual([
    { name: 'set pod selector to ["a"] & more', passed: true },
    { name: 'simple ipblock', passed: false },
    { name: 'simple ipblock', passed: true },
  ]);
});

describe('the listed cases', () => {
  const passed = (...names: string[]) => names.map((name) => ({ name, passed: true }));

  it('pass if each passed as often as it is listed', () => {
    expect(policyObjections(passed('a', 'b', 'b'), ['a', 'b', 'b'])).toEqual([]);
  });

  it('do not pass if one failed or did not run, or an unlisted case ran', () => {
    expect(policyObjections([...passed('b', 'c'), { name: 'a', passed: false }], ['a', 'b', 'b'])).toEqual([
      'failed: a',
      'listed 2 times, run 1 times: b',
      'listed 0 times, run 1 times: c',
    ]);
  });
});
