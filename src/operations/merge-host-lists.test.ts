import { describe, expect, it } from 'vitest';
import { laidOver, mergeHosts, mergeLists } from './merge-host-lists.ts';

describe('host lists', () => {
  it('merge entries of one host, also if its address is spelled differently', () => {
    const { hosts, places, problems } = mergeHosts('nodeList', [
      { ip: 'fd00::1', port: 22 },
      { ip: '10.0.0.1' },
      { ip: 'FD00:0::1', name: 'a', port: undefined },
    ]);
    expect(hosts).toEqual([{ ip: 'fd00::1', port: 22, name: 'a' }, { ip: '10.0.0.1' }]);
    expect(places).toEqual([0, 1]);
    expect(problems).toEqual([]);
  });

  it('report contradictions between two entries of one host', () => {
    const { problems } = mergeHosts('nodeList', [
      { ip: '10.0.0.1', name: 'a', labels: { x: 'y' } },
      { ip: '10.0.0.1', name: 'b', labels: { x: 'y' } },
    ]);
    expect(problems).toEqual([
      { field: 'nodeList[1].name', reason: 'contradicts nodeList[0], which is the same host 10.0.0.1' },
    ]);
  });

  it('report indexes as the client counted them', () => {
    const { placed } = mergeLists({
      nodeList: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }, { ip: '10.0.0.2' }],
    });
    const field = (text: string) => placed({ field: text, reason: '' }).field;
    expect(field('nodeList[1].ip')).toBe('nodeList[2].ip');
    expect(field('masterList[1].ip')).toBe('masterList[1].ip');
    expect(field('podCIDR')).toBe('podCIDR');
  });

  it('keep fields of a known host that the new list omits', () => {
    expect(
      laidOver(
        [{ ip: '10.0.0.1', name: 'a', port: 2222 }],
        [{ ip: '10.0.0.1', port: 22 }, { ip: '10.0.0.2' }],
      ),
    ).toEqual([{ ip: '10.0.0.1', name: 'a', port: 22 }, { ip: '10.0.0.2' }]);
  });
});
