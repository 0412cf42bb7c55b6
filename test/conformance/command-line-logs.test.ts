import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { type CommandLine, commandLine, soon } from './command-line.fixture.ts';

let cli: CommandLine;
beforeAll(async () => {
  cli = await commandLine();
  await cli.loginAsOwner();
});
afterAll(() => cli.stop());

it('follows a log while the server restarts, without a gap or a repeat', async () => {
  const id = 'b7k2m9x4qz';
  await cli.world.admin.create(KUBERNETES_CLUSTERS, {
    metadata: {
      namespace: cli.world.namespace,
      name: 'followed',
      annotations: { [annotations.requestId]: 'one' },
    },
    spec: { cluster: { masterList: [{ ip: '192.0.2.61' }] } },
  });
  await cli.statusOf('followed', { id, name: 'create', step: 'Prepare hosts' });
  const attempt = await cli.world.attempt(`create-${id}-1`, 'followed');
  const jobToken = await attempt.token();
  let offset = 0;
  const log = async (message: string) => {
    const line = `${JSON.stringify({ time: '2026-11-29T10:00:00Z', event: 'info', message })}\n`;
    const path = `/jobs/${attempt.job}/log?offset=${offset}`;
    await cli.world.call(jobToken, 'POST', path, line, { 'content-type': 'application/x-ndjson' });
    offset += Buffer.byteLength(line);
  };
  await log('the first');
  const followed = cli.begin(['logs', 'followed', '-f']);
  await expect.poll(followed.printed, soon).toContain('the first');
  const { port } = new URL(cli.url);
  const closed = once(cli.server, 'close');
  cli.server.close();
  cli.server.closeAllConnections();
  await closed;
  await expect.poll(followed.noted, soon).toContain('The server does not answer');
  await log('the second');
  cli.server.listen(Number(port), '127.0.0.1');
  await once(cli.server, 'listening');
  await expect.poll(followed.printed, soon).toContain('the second');
  await log('the third');
  await cli.statusOf('followed', { id, name: 'create', step: 'done', result: 'finished' });
  const { code, out } = await followed.end();
  expect(code).toBe(0);
  const lines = out.split('\n').flatMap((line) => /the (first|second|third)$/.exec(line)?.[1] ?? []);
  expect(lines).toEqual(['first', 'second', 'third']);
});
