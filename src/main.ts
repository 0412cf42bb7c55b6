import { Command } from '@commander-js/extra-typings';
import type { z } from 'zod';
import { messageOf, UsageError } from '#base/errors.ts';
import { createLogger, type Logger, type LogLevel } from '#base/log.ts';
import type { Manager } from '#runtime/process/manager.ts';
import {
  artifactsConfig,
  bootstrapConfig,
  configFrom,
  controllerConfig,
  optionsOf,
  serverConfig,
} from './config.ts';

/** The programs that run until they are told to stop; each is imported only when it is the one. */
const program = new Command('matryoshka').description(
  'Kubernetes clusters made and looked after from inside Kubernetes',
);

function serve<S extends z.ZodObject>(
  name: string,
  description: string,
  schema: S,
  wire: (config: Readonly<z.infer<S>>, log: Logger) => Promise<Manager>,
  levelOf: (config: Readonly<z.infer<S>>) => LogLevel,
): void {
  const command = new Command(name).description(description);
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
  program.addCommand(command);
}

serve(
  'controller',
  'Reconcile KubernetesClusters',
  controllerConfig,
  async (config, log) => (await import('./programs/controller.ts')).controllerProgram(config, log),
  (config) => config.logLevel,
);
serve(
  'server',
  'Serve the REST API and the admission webhook',
  serverConfig,
  async (config, log) => (await import('./programs/server.ts')).serverProgram(config, log),
  (config) => config.logLevel,
);
serve(
  'artifacts',
  'Serve the files that hosts install',
  artifactsConfig,
  async (config, log) => (await import('./programs/artifacts.ts')).artifactsProgram(config, log),
  (config) => config.logLevel,
);

const bootstrapping = new Command('bootstrap').description(
  'Make the meta cluster on a bare host and put the operator into it',
);
for (const option of optionsOf(bootstrapConfig)) bootstrapping.addOption(option);
bootstrapping.action(async (options) => {
  const config = configFrom(bootstrapConfig, options);
  const { bootstrap } = await import('#bootstrap/bootstrap.ts');
  const { restUrl } = await bootstrap(config, (line) => process.stdout.write(`${line}\n`));
  process.stdout.write(
    `\nThe meta cluster is ready.\n  kubeconfig  ${config.kubeconfigOut}\n  REST API    ${restUrl} (authority: ${config.caOut})\n`,
  );
});
program.addCommand(bootstrapping);

try {
  await program.parseAsync();
  process.exit();
} catch (error) {
  process.stderr.write(
    `${error instanceof UsageError ? error.message : `matryoshka: ${messageOf(error)}`}\n`,
  );
  process.exit(1);
}
