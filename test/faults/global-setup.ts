import type { TestProject } from 'vitest/node';
import { startServer } from '../worlds/ground.ts';

/** Starts one API server without controllers; the plans play their parts. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  project.provide('kubeconfigPath', server.kubeconfigPath);
  return () => server.stop();
}
