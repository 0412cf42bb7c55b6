import { defineConfig } from 'vitest/config';
import { HEAVY_LANES } from './test/e2e/lane-count.ts';
import { LIGHT_FILES } from './test/e2e/light.ts';
import { LongestFirst } from './test/e2e/longest-first.ts';

/** Projects, by what they need: nothing; an API server with controllers; one without; a whole lab. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'lab/**/*.test.ts', 'test/house/*.test.ts'],
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
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/*.test.ts'],
          exclude: [...LIGHT_FILES],
          globalSetup: ['test/e2e/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxWorkers: HEAVY_LANES,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e-light',
          include: [...LIGHT_FILES],
          globalSetup: ['test/e2e/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          // One kills the operator again and again; the other does not care who leads, or since when.
          name: 'e2e-unattended',
          include: ['test/e2e/unattended/*.test.ts'],
          globalSetup: ['test/e2e/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxWorkers: HEAVY_LANES,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          // They kill the operator, or the meta cluster's host: nobody else may count on either meanwhile.
          name: 'e2e-disturbing',
          include: ['test/e2e/disturbing/*.test.ts'],
          globalSetup: ['test/e2e/global-setup.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxWorkers: 1,
          sequence: { groupOrder: 6 },
        },
      },
    ],
  },
});
