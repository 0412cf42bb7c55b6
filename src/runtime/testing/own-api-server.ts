import { afterAll, beforeAll } from 'vitest';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';

/**
 * Starts a separate API server for a test file whose objects concern the whole cluster and would affect other files. Call it
 * at the top of the file, before all that uses it. Returns a function that returns the path of its kubeconfig.
 */
export function useApiServer(): () => string {
  let server: ApiServer | undefined;
  beforeAll(async () => {
    server = await startApiServer({ controllerManager: true });
  });
  afterAll(() => server?.stop());
  return () => {
    if (!server) throw new Error('the API server is there from beforeAll on');
    return server.kubeconfigPath;
  };
}
