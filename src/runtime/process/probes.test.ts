import { afterEach, expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';
import { createProbes } from './probes.ts';

const metrics = createMetrics({ defaults: false });
let broken = false;
const probes = createProbes({
  port: 0,
  host: '127.0.0.1',
  live: { workers: () => (broken ? 'stuck' : undefined) },
  ready: {
    caches: () => {
      throw new Error('not yet');
    },
  },
  metrics,
});

afterEach(() => probes.stop());

it('reports each check, handles one that throws, and serves metrics', async () => {
  await probes.start();
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${probes.port()}${path}`);
    return { status: response.status, text: await response.text() };
  };
  expect(await get('/healthz')).toEqual({ status: 200, text: '[+] workers ok\nok\n' });
  broken = true;
  expect(await get('/livez?verbose')).toEqual({ status: 503, text: '[-] workers: stuck\nfailed\n' });
  expect(await get('/readyz')).toEqual({ status: 503, text: '[-] caches: not yet\nfailed\n' });
  expect((await get('/etc/passwd')).status).toBe(404);

  const observe = metrics.controller('sample', 4);
  observe.added();
  observe.depth(3);
  observe.reconciled('terminal', 0.2);
  metrics.election('lease')(true);
  metrics.client('host:6443')('GET', 200, 0.01);
  const { text } = await get('/metrics');
  for (const line of [
    'controller_runtime_reconcile_total{controller="sample",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="sample"} 1',
    'controller_runtime_max_concurrent_reconciles{controller="sample"} 4',
    'controller_runtime_reconcile_time_seconds_count{controller="sample"} 1',
    'workqueue_depth{name="sample",controller="sample"} 3',
    'workqueue_adds_total{name="sample",controller="sample"} 1',
    'leader_election_master_status{name="lease"} 1',
    'rest_client_requests_total{code="200",method="GET",host="host:6443"} 1',
  ]) {
    expect(text).toContain(line);
  }
});
