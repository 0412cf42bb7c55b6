import type { RunSpec } from '#protocol/run-spec.ts';
import type { Settings } from '../settings.ts';

/** Returns the settings of a run whose files are in the folder. */
export const settingsIn = (dir: string, runSpec: RunSpec): Settings => ({
  POD_UID: 'uid',
  MATRYOSHKA_ETC: dir,
  PLAYBOOKS: dir,
  TOKEN_FILE: '',
  SCRATCH_DIR: '/tmp',
  WORK_DIR: dir,
  TERMINATION_LOG: '',
  runSpec,
  artifacts: { baseUrl: 'http://meta', releases: {} },
  siteVars: {},
  limits: {},
  access: { knownHosts: '', password: 'x' },
  caFile: '',
});
