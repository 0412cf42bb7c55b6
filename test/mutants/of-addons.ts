import type { Mutant, Witness } from './mutant.ts';

const LOCAL = 'src/addons/local-service';
const WORKSPACE = 'src/addons/workspace/controller';
const GRPC = 'src/addons/workspace/server';
const api = (file: string, test: string): Witness => ({ project: 'api', file, test });
const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const life = (folder: string) =>
  api(`${folder}/faults.api.test.ts`, 'the scenario has the same end whichever write the controller');
const pods = api(`${LOCAL}/pods.api.test.ts`, 'each selected pod gets its label by one write');
const lost = (test: string) => api('src/addons/workspace/server/lost-answers.api.test.ts', test);

/** LocalServices, Workspaces, and retries of Networks: writes and their time, undo, and permanent failures. */
export const ofAddons: readonly Mutant[] = [
  {
    name: 'the label of a pod of LocalServices is patched, and belongs to nobody',
    file: `${LOCAL}/pods.ts`,
    from: `.apply(
          PODS,
          { metadata },
          { fieldManager: FIELD_MANAGER, force: true },
        )`,
    to: ".patch(PODS, key, { metadata }, { type: 'merge', fieldManager: FIELD_MANAGER })",
    witness: pods,
  },
  {
    name: 'the label of a pod of LocalServices is written though it is right',
    file: `${LOCAL}/pods.ts`,
    from: '=== rack) return undefined;',
    to: '=== undefined) return rack;',
    witness: pods,
  },
  {
    name: 'the status of a LocalService is written though it is as it was',
    file: `${LOCAL}/controller.ts`,
    from: 'if (canonicalJson(status) !== canonicalJson(local.status))',
    to: 'if (canonicalJson(status))',
    witness: life(LOCAL),
  },
  {
    name: 'a LocalService does not follow its selector',
    file: `${LOCAL}/service.ts`,
    from: "  'selector',\n  'type',",
    to: "  'type',",
    witness: api(`${LOCAL}/addon.api.test.ts`, 'follows the selector to other pods'),
  },
  {
    name: 'the status of a Workspace is written though it is as it was',
    file: `${WORKSPACE}/controller.ts`,
    from: 'if (canonicalJson(status) !== canonicalJson(workspace.status))',
    to: 'if (canonicalJson(status))',
    witness: life(WORKSPACE),
  },
  {
    name: 'nobody comes back when the time of a Workspace is over',
    file: `${WORKSPACE}/controller.ts`,
    from: 'const due = [ends, idle]',
    to: 'const due = [idle]',
    witness: api(
      'src/addons/workspace/addon.api.test.ts',
      'is removed with pod and volume when its ttl ends',
    ),
  },
  {
    name: 'a start of a Workspace in vain is not undone',
    file: `${GRPC}/methods.ts`,
    from: "await undo(key, (signal) => client.patch(WORKSPACES, key, stop, { type: 'json', signal }));",
    to: 'void [undo, stop];',
    witness: lost('in a start is undone and reported, and may be repeated'),
  },
  {
    name: 'the stop after a start of a Workspace in vain is tried once',
    file: `${GRPC}/awaited.ts`,
    from: 'if (tried === UNDO_TRIES) return;',
    to: 'if (tried > 0) return;',
    witness: lost('in the stop after a failed start is repeated'),
  },
  {
    name: 'a use of a Workspace is written each time that it is told',
    file: `${GRPC}/methods.ts`,
    from: 'if (isReported && !isAwaited(found)) return SUCCESS;',
    to: 'if (isReported && isAwaited(found)) return SUCCESS;',
    witness: lost('in a keepSpace is reported, and a repetition keeps the first time'),
  },
  {
    name: 'a field of a Workspace’s messages has another number',
    file: `${GRPC}/proto/cloud-ide.proto`,
    from: 'string Storage = 3;',
    to: 'string Storage = 4;',
    witness: unit(`${GRPC}/seed-wire.test.ts`, 'keeps its fields, numbers and types'),
  },
  {
    name: 'a host of a Network that is away is tried as often as ever',
    file: 'src/addons/network/controller/controller.ts',
    from: '(hasTrouble ? failures.next(uid) : resyncMs)',
    to: '(hasTrouble ? RETRY.baseMs : resyncMs)',
    witness: unit('src/addons/network/controller/retries.test.ts', 'retries of an unreachable host back off'),
  },
  {
    name: 'a host of a Network that was away once is tried seldom for ever',
    file: 'src/addons/network/controller/controller.ts',
    from: 'if (!hasTrouble) failures.forget(uid);',
    to: '',
    witness: unit(
      'src/addons/network/controller/retries.test.ts',
      'retries start again with the first pause',
    ),
  },
];
