import { nodeNameOf } from '#api/host.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import type { Meta } from '#lab/meta/meta.ts';

/** Numbers the lab's hosts from 0, without the meta cluster's own. `addressOf`: the address in a cluster's host lists. */
export function byNumber(lab: () => Meta, addressOf = ({ ip }: LabHost): string => ip) {
  const host = (index: number): LabHost => {
    const found = lab().hosts[index];
    if (!found) throw new Error(`the lab has no host ${index}`);
    return found;
  };
  /** Returns entries for a host list of a cluster. */
  const entries = (...indices: number[]) => indices.map((index) => ({ ip: addressOf(host(index)) }));
  return {
    host,
    entries,
    /** Returns the names of their nodes, in order. */
    nodes: (...indices: number[]) =>
      entries(...indices)
        .map(nodeNameOf)
        .sort(),
    /** Runs a script on the host and returns its output. */
    sh: (index: number, script: string) => docker(['exec', host(index).name, 'bash', '-c', script]),
  };
}
