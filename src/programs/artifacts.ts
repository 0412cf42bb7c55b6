import { artifactServer } from '#artifacts/serve.ts';
import type { Logger } from '#base/log.ts';
import { createManager, type Manager } from '#runtime/process/manager.ts';

/** Wires the artifact server, from which hosts download their files. */
export async function artifactsProgram(
  config: { directory: string; port: number },
  log: Logger,
): Promise<Manager> {
  const app = artifactServer(config.directory);
  const service = {
    name: 'artifacts',
    start: async () => {
      await app.listen({ host: '::', port: config.port });
    },
    stop: () => app.close(),
  };
  return createManager({ servers: [service], log });
}
