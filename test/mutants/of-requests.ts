import type { Mutant } from './mutant.ts';

/** What the REST API and the webhook hold against callers. */
export const ofRequests: readonly Mutant[] = [
  {
    name: 'bodies of Jobs are parsed before their token is looked at',
    file: 'src/server/app.ts',
    from: "jobs.addHook('onRequest'",
    to: "jobs.addHook('preHandler'",
    witness: {
      project: 'api',
      file: 'src/server/jobs/refused-bodies.api.test.ts',
      test: 'refuses a stranger before a body is read',
    },
  },
  {
    name: 'a body may have any number of values',
    file: 'src/server/http/body-bounds.ts',
    from: 'if (values > MAX_VALUES)',
    to: 'if (values < 0)',
    witness: {
      project: 'api',
      file: 'src/server/jobs/refused-bodies.api.test.ts',
      test: 'did of 400,000 entries',
    },
  },
];
