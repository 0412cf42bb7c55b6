import { expect, it } from 'vitest';
import { focusOn, specsIn } from './specs.ts';

const SUITE = 'Kubernetes e2e suite';
const NAMES = ['[sig-node] Pods should run (root,0644) [Conformance]', 'a|b: costs $1.50?'];

it('reads one spec a line, and skips comments', () => {
  expect(specsIn(`# what runs\n\n${NAMES.join('\n')}\n`)).toEqual(NAMES);
});

it('matches each spec of the list literally', () => {
  const focus = new RegExp(focusOn(SUITE, NAMES));
  for (const name of NAMES) expect(`${SUITE} ${name}`).toMatch(focus);
});

it.each([
  `${SUITE} ${NAMES[0]} [Slow]`,
  `${SUITE} [sig-node] Pods should run (root,0644)`,
  `${SUITE} more ${NAMES[0]}`,
  `${SUITE} a`,
  `${SUITE} a|b: costs $1550?`,
])('does not match "%s"', (text) => {
  expect(text).not.toMatch(new RegExp(focusOn(SUITE, NAMES)));
});
