import { type Check, error, fine } from '../check.ts';

/** Installing needs root. Another user asks by sudo; where that refuses, no check is asked (src/ssh/sudo.ts). */
export const root: Check = {
  name: 'root',
  script: () => 'say uid "$(id -u)"',
  good: '@uid 0',
  check: ({ host }) =>
    host.said.text('uid') === '0'
      ? fine
      : error(`commands run there with uid ${host.said.text('uid')}; root is needed`),
};
