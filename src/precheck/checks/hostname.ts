import { type Check, error, fine, joins } from '../check.ts';

/** Reports duplicate host names: node names must be unique in a cluster. */
export const hostname: Check = {
  name: 'hostname',
  good: '',
  check(context) {
    const { host, all } = context;
    const other = all.find(({ ip, name }) => ip !== host.ip && name === host.name);
    return !joins(context) || !other ? fine : error(`${other.ip} has the same node name ${host.name}`);
  },
};
