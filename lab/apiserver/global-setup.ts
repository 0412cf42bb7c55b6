import type { TestProject } from 'vitest/node';
import { startApiServer } from './start.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Kubeconfig of a cluster admin on the run's API server. Tests share the server, and each has its own namespaces. */
    kubeconfigPath: string;
  }
}

/** Starts one API server with controllers for a whole run of the `api` project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startApiServer({ controllerManager: true });
  project.provide('kubeconfigPath', server.kubeconfigPath);
  return () => server.stop();
}
