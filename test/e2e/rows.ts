import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Rows of files that run in parallel, and their order. The longest files and those with long waits start first, so that none
 * of them runs alone at the end. main.ts defines which row waits for which.
 */

/**
 * Clusters of several control planes. The files with the most computation (half-done, cut-short, external-etcd) run beside
 * those that wait most. `lost-objects` comes last, so that all lanes end together.
 */
const HEAVY = [
  'half-done',
  'repair',
  'cut-short',
  'host-faults',
  'external-etcd',
  'highly-available',
  'host-lost',
  'away',
  'power-cut',
  'lost-objects',
];
/**
 * Clusters of one control plane, and the smoke test (life-by-rest). They wait for most of their time, so they run in
 * sequence beside the other rows. Three at once take as long as two, and would disturb each other's measurements.
 */
const LIGHT = [
  'images',
  'meanwhile',
  'drift',
  'changes',
  'hooks',
  'hosts',
  'cancel',
  'dual-stack',
  'life-by-annotation',
  'refusals',
  'unfit-hosts',
  'sudo',
  // This file needs three control planes too, so it does not start while all lanes create clusters.
  'life-by-rest',
];
/** Files that do not depend on the leader. They run beside the one that kills the operator repeatedly, while it runs. */
const UNATTENDED = ['variants', 'settings', 'network', 'policies'];
/** Files on one cluster, after those of `disturbing`; they do not depend on the leader either. */
const ADDONS = ['ingress', 'workspace', 'local-service'];

const paths = (names: readonly string[]): string[] => names.map((name) => `test/e2e/${name}.test.ts`);

/** Files of each row, from the root of the project. A new file belongs to the first row and runs at its end. */
export const ROWS = {
  attended: {
    include: ['test/e2e/*.test.ts'],
    exclude: paths([...LIGHT, ...UNATTENDED]),
  },
  attendedLight: { include: paths(LIGHT) },
  unattended: { include: ['test/e2e/unattended/*.test.ts', ...paths(UNATTENDED)] },
  addons: { include: ['test/e2e/addons/*.test.ts'] },
  disturbing: { include: ['test/e2e/disturbing/*.test.ts'] },
};

const ORDER = [...HEAVY, ...LIGHT, 'operator-killed', ...UNATTENDED, ...ADDONS];
const rank = ({ moduleId }: TestSpecification): number => {
  const found = ORDER.indexOf(basename(moduleId, '.test.ts'));
  return found < 0 ? ORDER.length : found;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}
