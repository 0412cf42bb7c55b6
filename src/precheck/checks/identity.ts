import { type Check, type CheckContext, error, fine, joins } from '../check.ts';

const twin = ({ host, all }: CheckContext, same: (other: CheckContext['host']) => boolean) =>
  all.find((other) => other.ip !== host.ip && same(other));

/** Node names must be unique in a cluster. */
export const hostname: Check = {
  name: 'hostname',
  check(context) {
    const other = twin(context, ({ name }) => name === context.host.name);
    return !joins(context) || !other
      ? fine
      : error(`${other.ip} has the same node name ${context.host.name}`);
  },
};

/** Cloned machines share it, and networks that derive addresses from it then break. */
export const machineId: Check = {
  name: 'machine-id',
  check(context) {
    if (!joins(context)) return fine;
    const { machineId: id } = context.host.facts;
    if (id === '') return error('/etc/machine-id is missing or empty; run systemd-machine-id-setup');
    const other = twin(context, ({ facts }) => facts.machineId === id);
    return other
      ? error(`${other.ip} has the same /etc/machine-id; remove it and run systemd-machine-id-setup`)
      : fine;
  },
};
