import { nodeNameOf } from '#api/host.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import type { Meta } from '#lab/meta/meta.ts';

/** The lab's hosts by their number, from 0; the meta cluster's own is not among them. `addressOf`: by which a cluster names them. */
export function byNumber(lab: () => Meta, addressOf = ({ ip }: LabHost): string => ip) {
  const host = (index: number): LabHost => {
    const found = lab().hosts[index];
    if (!found) throw new Error(`the lab has no host ${index}`);
    return found;
  };
  /** As a host list of a cluster names them. */
  const entries = (...indices: number[]) => indices.map((index) => ({ ip: addressOf(host(index)) }));
  return {
    host,
    entries,
    /** Names of their nodes, in order. */
    nodes: (...indices: number[]) =>
      entries(...indices)
        .map(nodeNameOf)
        .sort(),
    /** Runs a script there; answers its output. */
    sh: (index: number, script: string) => docker(['exec', host(index).name, 'bash', '-c', script]),
  };
}
