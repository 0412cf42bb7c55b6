import type { JobSettings } from '../job/manifest.ts';

/** Settings of Jobs whose pods nobody runs, all in one namespace. */
export const jobSettings = (namespace: string): JobSettings => ({
  namespace,
  reportsNamespace: namespace,
  image: 'runner',
  serviceAccount: 'runner',
  hookServiceAccount: 'hook',
  serverUrl: 'https://server',
  caConfigMap: 'ca',
  siteConfigMap: 'site',
});
