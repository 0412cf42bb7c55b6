import type { JobSettings } from '../job/manifest.ts';

/** Returns settings of Jobs whose pods never run, all in one namespace. */
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
