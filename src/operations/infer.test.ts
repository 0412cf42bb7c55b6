import { expect, it } from 'vitest';
import type { HostEntry } from '#api/host.ts';
import { infer } from './infer.ts';

const MASTER = { ip: '10.0.0.1' };
const spec = (...nodeList: HostEntry[]) => ({ cluster: { masterList: [MASTER], nodeList } });
const marked = { ip: '10.0.0.2', labels: { rack: 'r1' } };
const present = spec(marked);

it('starts by itself what is one operation that takes nothing away', () => {
  expect(infer(present, present)).toEqual({ kind: 'nothing' });
  expect(infer(present, spec(marked, { ip: '10.0.0.3' }))).toMatchObject({ operation: { name: 'scale-up' } });
  expect(infer(present, spec({ ip: '10.0.0.2' }))).toMatchObject({ operation: { name: 'relabel' } });
});

it('names the hosts of each part of an edit that is several operations, and says how to go on', () => {
  expect(infer(present, spec({ ip: '10.0.0.2' }, { ip: '10.0.0.3' }))).toMatchObject({
    kind: 'not-offered',
    message:
      'this changes labels or taints (10.0.0.2) and adds workers (10.0.0.3) at once; ' +
      'apply one of these alone, and the next when that is done',
  });
});
