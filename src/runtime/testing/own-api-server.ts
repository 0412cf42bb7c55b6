import { afterAll, beforeAll } from 'vitest';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';

/**
 * An API server of a test file's own, for what is the whole cluster's and would meet other files; to be called at the top,
 * before all that uses it. Answers the path of its kubeconfig.
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
