import type { Mutant, Witness } from './mutant.ts';

const ADDON = 'src/addons/network';
const FOLDER = `${ADDON}/controller`;
const api = (file: string, test: string): Witness => ({ project: 'api', file: `${ADDON}/${file}`, test });
const life = api(
  'controller/faults.api.test.ts',
  'the scenario has the same end whichever write the controller',
);
const onHosts = (test: string): Witness => ({
  project: 'unit',
  file: 'src/addons/network/bridges/ssh-provider.test.ts',
  test,
});

/** Networks: records before changes of hosts, ownership of hosts, links and addresses, and leftovers. */
export const ofNetworks: readonly Mutant[] = [
  {
    name: 'a host of a Network is changed before it is on record',
    file: `${FOLDER}/write.ts`,
    from: 'return client.updateStatus<Network>(NETWORKS, { ...bound, status: { ...bound.status, hosts: records } });',
    to: 'return client.get<Network>(NETWORKS, keyOf(bound));',
    witness: life,
  },
  {
    name: 'a Network is bound to no finalizer',
    file: `${FOLDER}/write.ts`,
    from: 'isBound || deletionTimestamp',
    to: 'isBound || deletionTimestamp || true',
    witness: life,
  },
  {
    name: 'a Network whose host cannot be cleaned goes all the same',
    file: `${FOLDER}/round.ts`,
    from: 'some((one) => one.trim() === ip)',
    to: 'some((one) => one.trim() !== ip)',
    witness: api(
      'addon.api.test.ts',
      'blocks a deletion until it is clean, or until it is abandoned by annotation',
    ),
  },
  {
    name: 'a drift of a Network on its host is passed over',
    file: `${FOLDER}/apply.ts`,
    from: 'if (there?.whole && ',
    to: 'if (there && ',
    witness: api('addon.api.test.ts', 'is repaired when a user removes or changes its bridge'),
  },
  {
    name: 'addresses of a Network that the host has already are made all the same',
    file: `${FOLDER}/apply.ts`,
    from: 'if (occupant !== undefined)',
    to: 'if (occupant === bridge.id)',
    witness: api('addon.api.test.ts', 'are not configured if the host uses them already'),
  },
  {
    name: 'an older Network takes addresses away from who has them',
    file: `${FOLDER}/claims.ts`,
    from: '[without(one, made(network)), two] as const',
    to: '[one, two] as const',
    witness: { project: 'unit', file: `${FOLDER}/claims.test.ts`, test: 'and is not disturbed by that one' },
  },
  {
    name: 'who names a host for a Network keeps others from it, though he has never reached it',
    file: `${FOLDER}/claims.ts`,
    from: '(reached ? [ip] : [])',
    to: '(ip || reached ? [ip] : [])',
    witness: { project: 'unit', file: `${FOLDER}/claims.test.ts`, test: 'but not where it has never come' },
  },
  {
    name: 'the Secret of a Network is anybody’s to use upon an edit',
    file: `${FOLDER}/rights.ts`,
    from: 'object.spec != oldObject.spec && (',
    to: 'oldObject == null && (',
    witness: api('controller/rights.api.test.ts', 'is not used for other hosts'),
  },
  {
    name: 'the Secret of a Network is anybody’s to exchange together with its hosts',
    file: `${FOLDER}/rights.ts`,
    from: '|| variables.secret != ',
    to: '|| variables.secret < ',
    witness: api('controller/rights.api.test.ts', 'is not used for other hosts'),
  },
  {
    name: 'the status of a Network is anybody’s to write',
    file: `${FOLDER}/rights.ts`,
    from: "['UPDATE'],",
    to: "['CREATE'],",
    witness: api('controller/rights.api.test.ts', 'only the controller writes the status of a Network'),
  },
  {
    name: 'a link of a Network’s name that somebody made is taken for ours',
    file: 'src/addons/network/bridges/host/bridges.sh',
    from: 'is_made link "$1" && ip -o link show',
    to: 'ip -o link show',
    witness: onHosts('with their name that others created'),
  },
  {
    name: 'a table of a Network’s name that somebody made is replaced',
    file: 'src/addons/network/bridges/host/bridges.sh',
    from: '! has_table "$1" || is_made table "ip $1" ||',
    to: 'true ||',
    witness: onHosts('with their name that others created'),
  },
  {
    name: 'a host that lost its owner file is taken by Networks, whatever others have made there',
    file: 'src/addons/network/bridges/host/take.sh',
    from: '[ -z "$by" ] || [ "$by" =',
    to: 'true || [ "$by" =',
    witness: onHosts('are refused on a host of another cluster that lost its owner file'),
  },
  {
    name: 'a host without Networks stays theirs',
    file: 'src/addons/network/bridges/ssh-provider.ts',
    from: 'names.size === 0 && ',
    to: 'names.size < 0 && ',
    witness: onHosts('leave no trace'),
  },
  {
    name: 'the forwarding that a Network switched on stays on',
    file: 'src/addons/network/bridges/host/bridges.sh',
    from: 'while read -r value; do restore_sysctl "$value" || exit 1; done',
    to: 'while read -r _; do :; done',
    witness: onHosts('leave no trace'),
  },
  {
    name: 'a Network makes a router of its host',
    file: 'src/addons/network/bridges/host/bridges.sh',
    from: '\\} drop',
    to: '\\} accept',
    witness: onHosts('make the host a router for their guests only'),
  },
];
