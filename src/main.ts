import { Argument, Command } from '@commander-js/extra-typings';
import type { z } from 'zod';
import { messageOf, UsageError } from '#base/errors.ts';
import { createLogger, type Logger, type LogLevel } from '#base/log.ts';
import { plainLines } from '#base/plain-text.ts';
import type { Manager } from '#runtime/process/manager.ts';
import description from '../package.json' with { type: 'json' };
import { commandFirst } from './cli/client-command.ts';
import { clientCommands } from './cli/commands/index.ts';
import { CommandFailure } from './cli/failure.ts';
import {
  backupConfig,
  bootstrapConfig,
  checkConfig,
  listConfig,
  precheckConfig,
  pullConfig,
  restoreConfig,
  siteConfig,
} from './command-config.ts';
import {
  artifactsConfig,
  controllerConfig,
  ingressProxyConfig,
  serverConfig,
  webhookConfig,
  workspaceServerConfig,
} from './config.ts';
import { configFrom, optionsOf } from './options.ts';

/** Command with all programs; each is imported only if it was called. */
const program = new Command('matryoshka')
  .version(description.version)
  .description('Kubernetes clusters, created and operated from inside Kubernetes')
  .configureHelp({
    subcommandTerm: (command) =>
      [
        command.name(),
        ...command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
      ].join(' '),
  });

/** Exit code of a wrong flag, argument or file. */
const WRONG_USE = 2;
const exits = ({ exitCode }: { exitCode: number }): never => process.exit(exitCode === 0 ? 0 : WRONG_USE);
program.exitOverride(exits);

const START = 'Start here:';
const PROGRAMS = 'Programs of the operator:';
const INSTALLATION = 'The installation:';

function serve<S extends z.ZodObject>(
  name: string,
  description: string,
  schema: S,
  wire: (config: Readonly<z.infer<S>>, log: Logger) => Promise<Manager>,
  levelOf: (config: Readonly<z.infer<S>>) => LogLevel,
  under: Pick<Command, 'addCommand'> = program,
): void {
  const command = new Command(name).exitOverride(exits).helpGroup(PROGRAMS).description(description);
  for (const option of optionsOf(schema)) command.addOption(option);
  command.action(async (options) => {
    const config = configFrom(schema, options);
    const log = createLogger(levelOf(config));
    const stop = new AbortController();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => stop.abort(new Error(signal)));
    }
    const manager = await wire(config, log);
    await manager.run(stop.signal);
  });
  under.addCommand(command);
}

/** Adds a command that ends by itself. */
function once<S extends z.ZodObject>(
  under: Pick<Command, 'addCommand'>,
  name: string,
  { summary, example }: { summary: string; example: string },
  schema: S,
  act: (config: Readonly<z.infer<S>>, print: (line: string) => void) => Promise<void>,
): void {
  const command = new Command(name).exitOverride(exits).helpGroup(INSTALLATION).description(summary);
  for (const option of optionsOf(schema)) command.addOption(option);
  command.addHelpText('after', `\nExample:\n  ${example}`);
  command.action((options) => act(configFrom(schema, options), (line) => process.stdout.write(`${line}\n`)));
  under.addCommand(command);
}

const commands = clientCommands({
  async loadBackup(options, io) {
    const config = configFrom(restoreConfig, options);
    await (await import('./programs/backup.ts')).restoreCommand(config, io.print);
  },
  inspect: async (kubeconfig, namespace, now) =>
    (await import('./programs/inspect-installation.ts')).inspectInstallation(kubeconfig, namespace, now),
});
for (const command of commands) program.addCommand(command);

const artifacts = new Command('artifacts').helpGroup(INSTALLATION).description('Files that hosts install');
program.addCommand(artifacts);
serve(
  'serve',
  'Serve the files to hosts',
  artifactsConfig,
  async (config, log) => (await import('./programs/artifacts.ts')).artifactsProgram(config, log),
  (config) => config.logLevel,
  artifacts,
);
once(
  artifacts,
  'list',
  { summary: 'List the files of a release', example: 'matryoshka artifacts list --kube-version v1.35.4' },
  listConfig,
  async (config, print) => (await import('./programs/artifact-commands.ts')).listArtifacts(config, print),
);
once(
  artifacts,
  'pull',
  {
    summary: 'Download the files into a directory',
    example: 'matryoshka artifacts pull --from https://mirror.example.com --to ./artifacts',
  },
  pullConfig,
  async (config, print) => (await import('./programs/artifact-commands.ts')).pullArtifacts(config, print),
);
once(
  artifacts,
  'check',
  {
    summary: 'Check a directory or a mirror against its sums',
    example: 'matryoshka artifacts check --source ./artifacts',
  },
  checkConfig,
  async (config, print) => {
    const { checkArtifacts } = await import('./programs/artifact-commands.ts');
    if (!(await checkArtifacts(config, print))) process.exitCode = 1;
  },
);
once(
  artifacts,
  'site',
  {
    summary: 'Print the artifacts of a directory or a mirror as values of the chart',
    example: 'matryoshka artifacts site --source https://mirror.example.com > site-values.yaml',
  },
  siteConfig,
  async (config, print) => (await import('./programs/artifact-commands.ts')).printSite(config, print),
);
once(
  program,
  'bootstrap',
  {
    summary: 'Create the meta cluster on a bare host and install the operator',
    example: 'matryoshka bootstrap --host 192.0.2.10 --ssh-key ~/.ssh/id_ed25519 --artifacts ./artifacts',
  },
  bootstrapConfig,
  async (config, print) => {
    const { bootstrap } = await import('#bootstrap/bootstrap.ts');
    const { restUrl } = await bootstrap(config, print);
    print('\nThe meta cluster is ready.');
    print(`  kubeconfig  ${config.kubeconfigOut}\n  REST API    ${restUrl} (authority: ${config.caOut})`);
  },
);

once(
  program,
  'backup',
  {
    summary: 'Save the clusters, hosts and Secrets of an installation into an encrypted file',
    example:
      'matryoshka backup --to installation.age --recipient age1... --kubeconfig ~/.matryoshka/meta.kubeconfig',
  },
  backupConfig,
  async (config, print) => (await import('./programs/backup.ts')).backupCommand(config, print),
);
const precheck = new Command('precheck')
  .helpGroup(INSTALLATION)
  .description('Check hosts as a creation does, without changing them')
  .addHelpText(
    'after',
    `
Exit codes: 0: no errors; 1: errors were found; 2: wrong use, or a wrong inventory.

Examples:
  matryoshka precheck --inventory hosts.yaml
  matryoshka precheck --from-cluster demo -n default --kubeconfig admin.conf -o junit

hosts.yaml:
  username: root
  sshKeyFile: ~/.ssh/id_ed25519
  masterList: [{ip: 10.0.0.1}]
  nodeList: [{ip: 10.0.0.2}, {ip: 10.0.0.3}]`,
  )
  .exitOverride(exits);
for (const option of optionsOf(precheckConfig)) precheck.addOption(option);
precheck.action(async (options) => {
  process.exitCode = WRONG_USE;
  const config = configFrom(precheckConfig, options);
  const { precheckCommand } = await import('./programs/precheck.ts');
  const errors = await precheckCommand(config, (line) => process.stdout.write(`${line}\n`));
  process.exitCode = errors > 0 ? 1 : 0;
});
program.addCommand(precheck);

serve(
  'controller',
  'Run the controllers of the operator',
  controllerConfig,
  async (config, log) => (await import('./programs/controller.ts')).controllerProgram(config, log),
  (config) => config.logLevel,
);
serve(
  'server',
  'Serve the REST API',
  serverConfig,
  async (config, log) => (await import('./programs/server.ts')).serverProgram(config, log),
  (config) => config.logLevel,
);
serve(
  'webhook',
  'Serve the admission webhook',
  webhookConfig,
  async (config, log) => (await import('./programs/webhook.ts')).webhookProgram(config, log),
  (config) => config.logLevel,
);
serve(
  'workspace-server',
  'Serve Workspaces over gRPC',
  workspaceServerConfig,
  async (config, log) =>
    (await import('#addons/workspace/server/program.ts')).workspaceServerProgram(config, log),
  (config) => config.logLevel,
);
serve(
  'ingress-proxy',
  'Serve the routes of Ingresses',
  ingressProxyConfig,
  async (config, log) => (await import('#addons/ingress/proxy/program.ts')).ingressProxyProgram(config, log),
  (config) => config.logLevel,
);

program.addCommand(
  new Command('completion')
    .exitOverride(exits)
    .helpGroup(START)
    .description('Print the script that completes commands in a shell')
    .addArgument(new Argument('<shell>', 'Shell').choices(['bash', 'zsh', 'fish', 'powershell']))
    .action(async (shell) => (await import('./cli/completion.ts')).printScript(shell)),
);
program.addCommand(
  new Command('complete')
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words) => (await import('./cli/completion.ts')).complete(program.commands, words)),
  { hidden: true },
);

// A reader such as `head` ends before the output does.
process.stdout.on('error', (error) => {
  if ('code' in error && error.code === 'EPIPE') process.exit(0);
  throw error;
});
try {
  await program.parseAsync(commandFirst(process.argv.slice(2)), { from: 'user' });
  process.exit();
} catch (error) {
  const isKnown = error instanceof UsageError || error instanceof CommandFailure;
  process.stderr.write(`${plainLines(isKnown ? error.message : `matryoshka: ${messageOf(error)}`)}\n`);
  process.exit(error instanceof CommandFailure ? error.exitCode : (process.exitCode ?? 1));
}
