import { type Check, error, fine, joins } from '../check.ts';

/** Finds duplicate machine ids. Cloned machines share the id, which breaks networks that derive addresses from it. */
export const machineId: Check = {
  name: 'machine-id',
  script: () => 'say machineId "$(cat /etc/machine-id)"',
  good: '@machineId id-a',
  check(context) {
    if (!joins(context)) return fine;
    const { host, all } = context;
    const id = host.said.text('machineId');
    if (id === '') return error('/etc/machine-id is missing or empty; run systemd-machine-id-setup');
    const other = all.find(({ ip, said }) => ip !== host.ip && said.text('machineId') === id);
    return other
      ? error(`${other.ip} has the same /etc/machine-id; remove it and run systemd-machine-id-setup`)
      : fine;
  },
};
