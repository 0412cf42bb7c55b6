import { expect, it } from 'vitest';
import type { Verdict } from '../../decide/snapshot.ts';
import { debounce } from './debounce.ts';
import { pauseMs } from './pace.ts';

const of = (status: 'True' | 'False' | 'Unknown', message = '', ready = 1): Verdict => ({
  conditions: [{ type: 'HostsReachable', status, reason: status, message }],
  ...(status === 'Unknown' ? {} : { nodes: { ready, total: 2 } }),
});
const nothing: Verdict = { conditions: [] };

/** Returns what is reported after each probe, in short. */
function reported(probes: readonly Verdict[], before = nothing): string[] {
  let [present, last]: [Verdict, Verdict | undefined] = [before, undefined];
  return probes.map((probe) => {
    present = debounce(present, last, probe);
    last = probe;
    const [one] = present.conditions;
    return one ? `${one.status}${one.message} ${present.nodes?.ready ?? '-'}` : 'nothing';
  });
}

it.each<[string, Verdict[], string[], Verdict?]>([
  ['one that is well at first', [of('True')], ['True 1']],
  ['one that is not', [of('False', 'a', 0), of('False', 'a', 0)], ['nothing', 'Falsea 0']],
  ['one failed probe', [of('True'), of('False', 'a', 0), of('True')], ['True 1', 'True 1', 'True 1']],
  [
    'two failed probes, and well',
    [of('True'), of('False', 'a', 0), of('False', 'b', 0), of('True')],
    ['True 1', 'True 1', 'Falseb 0', 'True 1'],
  ],
  [
    'first unknown, then False',
    [of('True'), of('Unknown'), of('False', 'a', 0)],
    ['True 1', 'True 1', 'Falsea 0'],
  ],
  ['twice unknown', [of('True'), of('Unknown'), of('Unknown')], ['True 1', 'True 1', 'Unknown -']],
  [
    'another wording once',
    [of('False', 'a'), of('False', 'a'), of('False', 'b'), of('False', 'a')],
    ['nothing', 'Falsea 1', 'Falsea 1', 'Falsea 1'],
  ],
  [
    'another wording twice',
    [of('False', 'a'), of('False', 'a'), of('False', 'b'), of('False', 'b')],
    ['nothing', 'Falsea 1', 'Falsea 1', 'Falseb 1'],
  ],
  [
    'what status said before a restart',
    [of('False', 'b'), of('False', 'b')],
    ['Falsea 1', 'Falseb 1'],
    of('False', 'a'),
  ],
])('reports a condition: %s', (_, probes, expected, before) => {
  expect(reported(probes, before)).toEqual(expected);
});

it.each([
  [0, 0.5, 30_000],
  [0, 0, 24_000],
  [1, 0.5, 30_000],
  [2, 0.5, 60_000],
  [3, 0.5, 120_000],
  [60, 0.5, 300_000],
])('pauses after %d silent probes, with random number %d, for %d ms', (probes, chance, ms) => {
  expect(pauseMs(probes, { intervalMs: 30_000, random: () => chance })).toBeCloseTo(ms);
});

it('never pauses for less than a long configured interval', () => {
  expect(pauseMs(9, { intervalMs: 900_000, random: () => 0.5 })).toBeCloseTo(900_000);
});

it('reports drift at once, and its end at once', () => {
  const drift = (status: 'True' | 'False', message: string): Verdict => ({
    conditions: [{ type: 'HostsAsMade', status, reason: status === 'True' ? 'AsMade' : 'Drifted', message }],
  });
  expect(reported([drift('True', ''), drift('False', 'a'), drift('False', 'b'), drift('True', '')])).toEqual([
    'True -',
    'Falsea -',
    'Falseb -',
    'True -',
  ]);
});
