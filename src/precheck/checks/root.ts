import { type Check, error, fine } from '../check.ts';

/**
 * Checks for root, which the installation needs. Another user needs sudo; if sudo refuses, no check runs (src/ssh/sudo.ts).
 */
export const root: Check = {
  name: 'root',
  script: () => 'say uid "$(id -u)"',
  good: '@uid 0',
  check: ({ host }) =>
    host.said.text('uid') === '0'
      ? fine
      : error(`commands run there with uid ${host.said.text('uid')}; root is needed`),
};
