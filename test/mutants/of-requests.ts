import type { Mutant } from './mutant.ts';

/** Checks of the REST API and the webhook against callers. */
export const ofRequests: readonly Mutant[] = [
  {
    name: 'a failed creation removes what its repetition has requested',
    file: 'src/server/clusters/create-routes.ts',
    from: 'if (uid !== made.metadata.uid || present?.[annotations.operation]) return;',
    to: 'if (uid !== made.metadata.uid) return;',
    witness: {
      project: 'api',
      file: 'src/server/clusters/request-headers.api.test.ts',
      test: 'keeps the object of a creation that fails if its repetition was accepted',
    },
  },
  {
    name: 'bodies of Jobs are parsed before their token is looked at',
    file: 'src/server/app.ts',
    from: "jobs.addHook('onRequest'",
    to: "jobs.addHook('preHandler'",
    witness: {
      project: 'api',
      file: 'src/server/jobs/refused-bodies.api.test.ts',
      test: 'refuses an unauthenticated client before it reads the body',
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
  {
    name: 'logs of a namespace have no budget',
    file: 'src/server/logs/log-budget.ts',
    from: 'return bytes < most',
    to: 'return bytes >= 0',
    witness: {
      project: 'api',
      file: 'src/server/logs/log-store.api.test.ts',
      test: 'limits the logs of a namespace in addition to the limit of an attempt',
    },
  },
  {
    name: 'parts of a log stay when it is packed',
    file: 'src/server/jobs/callback-routes.ts',
    from: '.pack(caller)',
    to: '.isFollowed(caller.job)',
    witness: {
      project: 'api',
      file: 'src/server/jobs/jobs.api.test.ts',
      test: 'is packed once its Job has reported',
    },
  },
  {
    name: 'the record of a cluster is forged while it is being deleted',
    file: 'src/webhook/admit/kubernetes-cluster.ts',
    from: 'const wrong = [...forged, ...',
    to: 'const wrong = [...forged.slice(0, 0), ...',
    witness: {
      project: 'api',
      file: 'src/webhook/deletion.api.test.ts',
      test: 'guards the annotations of a cluster during its deletion, and lets the deletion finish',
    },
  },
  {
    name: 'names that every cluster knows are given to users',
    file: 'src/server/clusters/user-kubeconfig.ts',
    from: 'RESERVED.test(name) ?',
    to: 'name === "" ?',
    witness: {
      project: 'api',
      file: 'src/server/clusters/user-kubeconfig.api.test.ts',
      test: 'keeps names that have a meaning in each cluster apart',
    },
  },
  {
    name: 'the right to an own kubeconfig is not asked',
    file: 'src/server/clusters/kubeconfig-routes.ts',
    from: 'await auth.allow(person, (isOwn',
    to: 'if (!isOwn) await auth.allow(person, (isOwn',
    witness: {
      project: 'api',
      file: 'src/server/clusters/user-kubeconfig.api.test.ts',
      test: 'needs its own right',
    },
  },
  {
    name: 'a stream that its client ends is not counted',
    file: 'src/server/http/request-metrics.ts',
    from: "reply.raw.once('close'",
    to: "reply.raw.once('finish'",
    witness: {
      project: 'unit',
      file: 'src/server/http/request-metrics.test.ts',
      test: 'counts whole answers, streams that the client ends, and clients that leave',
    },
  },
  {
    name: 'a missing right hides what the doctor found',
    file: 'src/programs/inspect-installation.ts',
    from: 'return [...found, ...causesOf(errors)',
    to: 'return [...(errors.length > 0 ? [] : found), ...causesOf(errors)',
    witness: {
      project: 'api',
      file: 'src/programs/inspect-installation.api.test.ts',
      test: 'reports what it may not read, and all that it may',
    },
  },
];
