import { defineConfig } from 'vitest/config';
import { HEAVY_LANES } from './test/e2e/lane.ts';
import { LongestFirst, ROWS } from './test/e2e/rows.ts';

const LAB = 'test/e2e/global-setup.ts';
/** Each is a run of vitest of its own (test/e2e/main.ts). */
const E2E = [
  { name: 'e2e', ...ROWS.attended, maxWorkers: HEAVY_LANES },
  { name: 'e2e-light', ...ROWS.attendedLight, maxWorkers: 1 },
  { name: 'e2e-unattended', ...ROWS.unattended, maxWorkers: HEAVY_LANES },
  {
    name: 'e2e-addons',
    ...ROWS.addons,
    maxWorkers: 1,
    globalSetup: [LAB, 'test/e2e/addons/cluster.ts'],
  },
  // They kill the operator, or the meta cluster's host: nobody else may count on either meanwhile.
  { name: 'e2e-disturbing', ...ROWS.disturbing, maxWorkers: 1 },
].map((row, index) => ({
  test: {
    globalSetup: [LAB],
    ...row,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    sequence: { groupOrder: 10 + index },
  },
}));

/** Projects, by what they need: nothing; an API server with controllers; one without; a whole lab. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'lab/**/*.test.ts', 'test/{roles,house}/*.test.ts'],
          exclude: ['**/*.api.test.ts', '**/node_modules/**'],
          // Milliseconds here; bounds for a machine that does much else at once.
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'api',
          include: ['src/**/*.api.test.ts', 'test/conformance/**/*.test.ts'],
          globalSetup: ['lab/apiserver/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // Most of the time they await a server: of two processors one would be idle.
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['test/faults/global-setup.ts'],
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      ...E2E,
    ],
  },
});
