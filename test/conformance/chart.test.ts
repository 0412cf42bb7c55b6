import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap, SECRETS, type Secret, secretText } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { DEPLOYMENTS } from '#bootstrap/rollout.ts';
import { renewed } from '#certificates/certificates.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { helm } from '#lab/helm/helm.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { renderedManifests } from '../../deploy/manifests.ts';
import { valuesSchema } from '../../deploy/values-schema.ts';

/** The Helm chart: what it renders, and a real API server into which Helm installs it. */

const root = join(import.meta.dirname, '../..');
const CHART = join(root, 'deploy/chart');
const NAMESPACE = 'clusters';
const SITE = { site: { artifacts: { baseUrl: 'https://mirror.example.com', releases: { 'v1.35.4': {} } } } };
const CRDS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const WEBHOOKS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};

let program: string;
let directory: string;
beforeAll(async () => {
  program = await helm(sayOnStderr);
  directory = await mkdtemp(join(tmpdir(), 'chart-'));
}, 900_000);
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Calls Helm with values. */
async function run(args: readonly string[], values: object = SITE) {
  const file = join(directory, `${Math.abs(args.join().length)}-values.json`);
  await writeFile(file, JSON.stringify(values));
  return execa(program, [...args, '--values', file], {
    reject: false,
    env: { HOME: directory, HELM_CACHE_HOME: directory, HELM_CONFIG_HOME: directory },
  });
}
const render = (values: object) =>
  run(['template', 'it', CHART, '--namespace', NAMESPACE, '--kube-version', '1.34.0'], values);

describe('what the chart renders', () => {
  it('is what bootstrap installs: run "node deploy/manifests.ts"', async () => {
    const folder = join(root, 'deploy/manifests');
    const found = await Promise.all(
      (await readdir(folder)).map(
        async (name) => [name, await readFile(join(folder, name), 'utf8')] as const,
      ),
    );
    expect(Object.fromEntries(found)).toEqual(await renderedManifests());
  });

  it('has a schema with the variables of roles: run "node deploy/values-schema.ts"', async () => {
    expect(JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'))).toEqual(valuesSchema());
  });

  it('has no findings of helm lint', async () => {
    const { exitCode, stdout } = await run(['lint', '--strict', CHART]);
    expect([exitCode, stdout.includes('0 chart(s) failed')]).toEqual([0, true]);
  });

  it.each([
    [{ image: { tga: 'x' } }, /image.*tga/s],
    [{ image: { digest: 'latest' } }, /image.*digest/s],
    [{ server: { replicas: 0 } }, /server.*replicas/s],
    [{ certificates: { mode: 'magic' } }, /certificates.*mode/s],
    [{ servedNamespaces: { names: ['Default'] } }, /servedNamespaces.*names/s],
    [{ colour: 'red' }, /colour/],
    [{ site: { ...SITE.site, inventoryVars: { drain_second: 300 } } }, /inventoryVars.*drain_second/s],
    [{ site: { ...SITE.site, inventoryVars: { drain_seconds: 'long' } } }, /inventoryVars.*drain_seconds/s],
    [{ server: { oidc: { issuer: 'https://id.example.com' } } }, /clientId/],
    [{ monitoring: { traces: { endpoint: 'collector:4318' } } }, /endpoint/],
  ])('refuses %o, and names the key', async (wrong, message) => {
    const { exitCode, stderr } = await render({ ...SITE, ...wrong });
    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(message);
  });

  it('names what is missing', async () => {
    expect((await render({})).stderr).toContain('site.artifacts: is missing');
    const existing = await render({ ...SITE, certificates: { mode: 'existing' } });
    expect(existing.stderr).toContain('certificates.authority: is missing');
  });

  it('names images by digest, by tag, and of a private registry', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const { stdout } = await render({
      ...SITE,
      image: { repository: 'registry.example.com/operator', digest },
      runnerImage: { repository: 'registry.example.com/runner', tag: 'v2' },
      imagePullSecrets: ['pull'],
    });
    expect(stdout).toContain(`image: registry.example.com/operator@${digest}`);
    expect(stdout).toContain('value: "registry.example.com/runner:v2"');
    // Pods of controller, server and webhook, and the accounts of Jobs.
    expect(stdout.match(/imagePullSecrets: \[\{ name: pull \}\]/g)).toHaveLength(5);
  });

  it('configures a login, and a collector of traces', async () => {
    const { stdout } = await render({
      ...SITE,
      server: {
        oidc: {
          issuer: 'https://id.example.com',
          clientId: 'matryoshka',
          redirectUrl: 'https://clusters.example.com/login/oidc/callback',
          scopes: ['openid', 'groups'],
          secretName: 'matryoshka-oidc',
        },
      },
      monitoring: { traces: { endpoint: 'http://collector:4318' } },
    });
    expect(stdout).toContain('{ name: MATRYOSHKA_OIDC_ISSUER, value: "https://id.example.com" }');
    expect(stdout).toContain('{ name: MATRYOSHKA_OIDC_SCOPES, value: "openid,groups" }');
    expect(stdout).toContain('secret: { secretName: matryoshka-oidc, defaultMode: 0440 }');
    expect(stdout.match(/MATRYOSHKA_OTLP_ENDPOINT, value: "http:\/\/collector:4318"/g)).toHaveLength(2);
  });

  it('takes the values of a release that had neither', async () => {
    const { exitCode, stderr } = await render({
      ...SITE,
      server: { oidc: null },
      monitoring: { traces: null },
    });
    expect([exitCode, stderr]).toEqual([0, '']);
  });

  it('lets cert-manager make certificates, and mounts only its authority into Jobs', async () => {
    const { stdout } = await render({ ...SITE, certificates: { mode: 'certManager' } });
    expect(stdout).toContain(`cert-manager.io/inject-ca-from: ${NAMESPACE}/matryoshka-webhook`);
    expect(stdout).toContain('{ name: MATRYOSHKA_CA_SECRET, value: matryoshka-server-tls }');
    expect(stdout).toContain('{ name: MATRYOSHKA_CONTROLLERS, value: kubernetescluster }');
    expect(stdout).not.toContain('kind: Secret\n');
  });

  it('has alerts that link to the documents, and a dashboard, if they are wanted', async () => {
    const on = { enabled: true };
    const { stdout } = await render({
      ...SITE,
      monitoring: { serviceMonitor: on, rules: { ...on, docs: 'https://docs.example.com/' }, dashboard: on },
    });
    expect(stdout).toContain('runbook_url: https://docs.example.com/troubleshooting#operationfailed');
    expect(stdout).toContain('kind: ServiceMonitor');
    expect(stdout).toContain('"title": "Matryoshka"');
    expect((await render(SITE)).stdout).not.toMatch(/monitoring\.coreos\.com|dashboard/);
  });
});

describe('a release in a cluster', () => {
  let apiServer: ApiServer;
  let client: Client;
  const values = { ...SITE, server: { addresses: ['192.0.2.10', 'clusters.example.com'] } };
  beforeAll(async () => {
    apiServer = await startApiServer({ controllerManager: true });
    client = createClient(await loadEndpoint({ kubeconfig: apiServer.kubeconfigPath }), {
      userAgent: 'test',
    });
  });
  afterAll(async () => {
    await client.close();
    await apiServer.stop();
  });
  const release = (verb: string, given: object) =>
    run(
      [
        ...[verb, 'matryoshka', CHART, '--namespace', NAMESPACE, '--kubeconfig', apiServer.kubeconfigPath],
        ...(verb === 'install' ? ['--create-namespace'] : []),
      ],
      given,
    );
  const secret = async (name: string) =>
    client.get<Secret>(SECRETS, { namespace: NAMESPACE, name }).then((one) => secretText(one, 'tls.crt'));
  const authority = async () => {
    const { data } = await client.get<ConfigMap>(CONFIG_MAPS, {
      namespace: NAMESPACE,
      name: 'matryoshka-ca',
    });
    return data?.['ca.crt'];
  };

  it('has the programs, their certificates and their CRDs', async () => {
    const { exitCode, stderr, stdout } = await release('install', values);
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain('matryoshka login --ca matryoshka-ca.crt');
    const names = (await client.list(DEPLOYMENTS, { namespace: NAMESPACE })).items.map(
      (one) => one.metadata.name,
    );
    expect(names.sort()).toEqual(['matryoshka-controller', 'matryoshka-server', 'matryoshka-webhook']);
    expect((await client.list(CRDS)).items.map((one) => one.metadata.name)).toContain(
      'kubernetesclusters.ecs.yun.com',
    );
    const { webhooks } = await client.get<
      KubeObject & { webhooks: { clientConfig: { caBundle: string } }[] }
    >(WEBHOOKS, { namespace: '', name: 'matryoshka' });
    const bundle = Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
    expect(bundle.trim()).toBe((await authority())?.trim());
    expect((await secret('matryoshka-ca'))?.trim()).toBe(bundle.trim());
  });

  it('keeps its keys at an upgrade, unless the addresses change', async () => {
    const before = [
      await authority(),
      await secret('matryoshka-server-tls'),
      await secret('matryoshka-webhook-tls'),
    ];
    expect((await release('upgrade', values)).exitCode).toBe(0);
    const now = async () => [
      await authority(),
      await secret('matryoshka-server-tls'),
      await secret('matryoshka-webhook-tls'),
    ];
    expect(await now()).toEqual(before);
    const other = { ...values, server: { addresses: ['192.0.2.11'] } };
    expect((await release('upgrade', other)).exitCode).toBe(0);
    const [ca, server, webhook] = await now();
    expect([ca, webhook]).toEqual([before[0], before[2]]);
    expect(server).not.toBe(before[1]);
  });

  it('has certificates that the operator can renew', async () => {
    const pair = async (name: string) => {
      const found = await client.get<Secret>(SECRETS, { namespace: NAMESPACE, name });
      return { cert: secretText(found, 'tls.crt') ?? '', key: secretText(found, 'tls.key') ?? '' };
    };
    const [ca, server] = [await pair('matryoshka-ca'), await pair('matryoshka-server-tls')];
    const later = new Date(Date.now() + 300 * 86_400_000);
    const next = new X509Certificate((await renewed(ca, server.cert, later))?.cert ?? '');
    expect(next.verify(new X509Certificate(ca.cert).publicKey)).toBe(true);
    expect(next.checkHost(`matryoshka-server.${NAMESPACE}.svc`)).toBeDefined();
    expect(next.checkIP('192.0.2.11')).toBe('192.0.2.11');
  });

  it('leaves nothing but the CRDs and its namespace when it is removed', async () => {
    const gone = await execa(
      program,
      ['uninstall', 'matryoshka', '--namespace', NAMESPACE, '--kubeconfig', apiServer.kubeconfigPath],
      { reject: false, env: { HOME: directory } },
    );
    expect(gone.exitCode).toBe(0);
    expect((await client.list(DEPLOYMENTS, { namespace: NAMESPACE })).items).toEqual([]);
    expect((await client.list(WEBHOOKS)).items).toEqual([]);
    expect((await client.list<Secret>(SECRETS, { namespace: NAMESPACE })).items).toEqual([]);
    await expect
      .poll(async () => (await client.list(NAMESPACES)).items.map((one) => one.metadata.name), {
        timeout: 30_000,
      })
      .not.toContain('matryoshka-reports');
    expect((await client.list(CRDS)).items).toHaveLength(2);
  });
});
