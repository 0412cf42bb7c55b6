import { createServer } from 'node:http';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { scriptOf } from '../script.ts';
import { artifacts } from './artifacts.ts';

it('waits for a server that is being replaced', async () => {
  const server = createServer((_request, answer) => answer.end('ok'));
  const listen = (port: number) =>
    new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
  await listen(0);
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  await new Promise((resolve) => server.close(resolve));
  const input = scriptOf([artifacts], { artifactUrl: `http://127.0.0.1:${port}/healthz` });
  const asked = execa('/bin/sh', ['-s'], { input });
  setTimeout(() => void listen(port), 1_500);
  expect((await asked).stdout).toBe('@artifacts yes');
  server.close();
});
