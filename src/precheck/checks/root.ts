import { type Check, error, fine } from '../check.ts';

/** Installing needs root; sudo comes with a later part. */
export const root: Check = {
  name: 'root',
  script: () => 'say uid "$(id -u)"',
  good: '@uid 0',
  check: ({ host }) =>
    host.said.text('uid') === '0'
      ? fine
      : error(`the SSH user has uid ${host.said.text('uid')}; root is needed`),
};
