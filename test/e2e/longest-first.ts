import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of `make e2e` that take five minutes and more, the longest first: begun last, one of them would run on alone. */
const LONGEST = [
  'cut-short',
  'half-done',
  'host-faults',
  'highly-available',
  'etcd-refusals',
  'drift',
  'repair',
  'remediation',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const found = LONGEST.indexOf(basename(moduleId, '.test.ts'));
  return found < 0 ? LONGEST.length : found;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}
