import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import type { Say } from '../artifacts/progress.ts';
import { pythonWithGrpc } from './clients.ts';

const PROTOS = join(import.meta.dirname, '../../src/addons/workspace/server/proto');
const GENERATE_MS = 60_000;

/** Method, fields of its message, and a token if it differs from the client's. */
export type Call = readonly [method: string, fields: object, token?: string];

/** For each call, the fields of the response in order, or its error. */
const answersSchema = z.array(
  z.union([z.array(z.union([z.string(), z.number()])), z.object({ code: z.string(), details: z.string() })]),
);

export interface PythonClient {
  /** Makes calls one by one, each within so many seconds. */
  calls(
    server: { address: string; ca: string; token: string },
    calls: readonly Call[],
    seconds?: number,
  ): Promise<z.infer<typeof answersSchema>>;
  close(): Promise<void>;
}

/** Creates a client of Workspaces that has only the .proto file, from which Python's own generator creates it. */
export async function pythonClient(say: Say): Promise<PythonClient> {
  const python = await pythonWithGrpc(say);
  const dir = await mkdtemp(join(tmpdir(), 'matryoshka-grpc-'));
  const generate = ['-m', 'grpc_tools.protoc', `-I${PROTOS}`, `--python_out=${dir}`];
  await execa(python, [...generate, `--grpc_python_out=${dir}`, 'cloud-ide.proto'], { timeout: GENERATE_MS });
  await copyFile(join(import.meta.dirname, 'workspace_client.py'), join(dir, 'client.py'));
  return {
    async calls(server, calls, seconds = 30) {
      const input = JSON.stringify({ ...server, calls, seconds });
      const timeout = (seconds * calls.length + 30) * 1_000;
      const { stdout } = await execa(python, ['client.py'], { cwd: dir, input, timeout });
      return answersSchema.parse(JSON.parse(stdout));
    },
    close: () => rm(dir, { recursive: true, force: true }),
  };
}
