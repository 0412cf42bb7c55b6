import { readFile, writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { messageOf, UsageError } from '#base/errors.ts';
import { startApiServer } from './apiserver/start.ts';
import { fillArtifacts, pinArtifacts } from './artifacts/fill.ts';
import { artifactsDir } from './artifacts/places.ts';
import { sayOnStderr as say } from './artifacts/progress.ts';
import { byHand } from './demo/by-hand.ts';
import { demo } from './demo/demo.ts';
import { differences, HostSnapshot, snapshotHost } from './host-snapshot.ts';
import { labDown } from './hosts/down.ts';
import { keyPath } from './hosts/places.ts';
import { labUp } from './hosts/up.ts';
import { play } from './play.ts';

const numberUpTo =
  (most: number) =>
  (text: string): number => {
    const given = Number(text);
    if (!/^[1-9]\d*$/.test(text) || given > most)
      throw new InvalidArgumentError(`a number from 1 to ${most}`);
    return given;
  };
const number = numberUpTo(99);

const program = new Command('lab').description('Hosts to practise on, and what is installed on them');

program
  .command('artifacts')
  .description('download or build what hosts need, laid out as upstream publishes it (MIRROR=https://…)')
  .option('--dir <path>', 'where to', artifactsDir)
  .option('--pin', 'pin the sums of these files, which a mirror then may offer', false)
  .action(async ({ dir, pin }) => {
    await fillArtifacts(dir, say);
    if (pin) await pinArtifacts(dir);
    process.stdout.write(`${dir}\n`);
  });

program
  .command('up')
  .description('start hosts as Docker containers')
  .option('--hosts <n>', 'how many', number, 4)
  .action(async ({ hosts }) => {
    for (const { name, ip } of await labUp(hosts, say)) process.stdout.write(`${name}\t${ip}\n`);
    say(`SSH as root with ${keyPath}`);
  });

program
  .command('down')
  .description('remove every host and leave nothing behind')
  .action(() => labDown(say));

program
  .command('play <playbook>')
  .description('run a playbook by hand, in the runner image, against lab hosts')
  .option('--name <name>', "the cluster's name", 'hand')
  .option('--masters <names...>', 'control planes', ['lab-1'])
  .option('--workers <names...>', 'workers; on a scale-up only the new ones', [])
  .option('--leaving <names...>', 'hosts that a scale-down or termination takes away', [])
  .option('--sequence <n>', "the operation's number, which must grow", number, 1)
  .option('--attempt <n>', 'which try of it', number, 1)
  .action(async (playbook, options) => {
    const { failed } = await play(playbook, options, say);
    // Hosts that failed by themselves did not stop the run.
    for (const [host, message] of failed) say(`${host} failed: ${message}`);
  });

program
  .command('snapshot <host> <file>')
  .description('write down what a host looks like; with a file that is there, say what has changed since')
  .action(async (host, file) => {
    const now = await snapshotHost(host);
    const before = await readFile(file, 'utf8').catch(() => undefined);
    if (before === undefined) return writeFile(file, JSON.stringify(now, null, 1));
    const changes = differences(HostSnapshot.parse(JSON.parse(before)), now);
    process.stdout.write(changes.map((line) => `${line}\n`).join(''));
    if (changes.length > 0) process.exitCode = 1;
  });

program
  .command('demo')
  .description('the whole way: a meta cluster, a cluster made by REST, scaled and deleted')
  .option(
    '--stage <n>',
    '1: playbooks by hand, 2: the meta cluster, 3: by annotation, 4: by REST, 5: all of it',
    numberUpTo(5),
    5,
  )
  .option('--keep', 'stop before the deletion and say how to use what is there', false)
  .action((options) => (options.stage === 1 ? byHand(say) : demo(options, say)));

program
  .command('apiserver')
  .description('run a bare API server with etcd until interrupted; prints the path of its kubeconfig')
  .option('--controller-manager', 'with the controllers for Jobs, namespaces and garbage collection', false)
  .action(async ({ controllerManager }) => {
    const server = await startApiServer({ controllerManager, say });
    process.stdout.write(`${server.kubeconfigPath}\n`);
    await new Promise((resolve) => {
      process.once('SIGINT', resolve);
      process.once('SIGTERM', resolve);
    });
    await server.stop();
  });

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(
    `lab: ${error instanceof UsageError ? error.message : (error instanceof Error && error.stack) || messageOf(error)}\n`,
  );
  // Other parts of a build may still run. They end with this process.
  process.exit(1);
}
