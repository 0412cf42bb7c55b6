import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { parse } from 'yaml';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { SUMS_FILE } from '#artifacts/catalogue.ts';
import { siteArtifacts } from '#artifacts/site.ts';
import { sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { fillArtifacts } from '#lab/artifacts/fill.ts';
import { artifactsDir } from '#lab/artifacts/places.ts';
import { announced, sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { helm } from '#lab/helm/helm.ts';
import { ensureDocker } from '#lab/hosts/daemon.ts';
import { docker } from '#lab/hosts/docker.ts';
import { labDown } from '#lab/hosts/down.ts';
import { loadImages } from '#lab/hosts/load-images.ts';
import { keyPath, type LabHost, labDir, network } from '#lab/hosts/places.ts';
import { labUp } from '#lab/hosts/up.ts';
import { type Meta, openInstalled } from '#lab/meta/meta.ts';
import { operatorImages } from '#lab/operator-images.ts';
import { byHand } from '../../bench/by-hand.ts';
import { type Collector, startCollector } from './collector.ts';

/**
 * `make chart-cluster`: a cluster of plain kubeadm gets the Helm chart, creates a cluster, upgrades the operator during an
 * operation, and is left without a trace. KEEP=1 leaves the lab running.
 */

/** A control plane and a worker of kubeadm's cluster, and a host for a cluster of the operator. */
const HOSTS = 3;
const ROOT = join(import.meta.dirname, '../..');
const CHART = join(ROOT, 'deploy/chart');
const RELEASE = 'matryoshka';
const NAMESPACE = 'matryoshka-system';
const REST_PORT = 32_443;
const LATER = 'later';
const WAIT = '5m';
const STEP_MS = 15 * 60_000;
const NAME = 'demo';
/** A task of a creation. */
const TASK = 'Start the control plane';

const repositoryOf = (image: string): string => `docker.io/library/${image.split(':')[0]}`;
const tagOf = (image: string): string => image.split(':')[1] ?? 'latest';

/** Serves the artifacts of this machine to lab hosts, until the process ends. */
async function serveArtifacts(): Promise<{ url: string; server: ChildProcess }> {
  const [port = 0] = await freePorts(1);
  const args = ['artifacts', 'serve', '--directory', artifactsDir, '--port', String(port)];
  const server = spawn(process.execPath, [join(ROOT, 'src/main.ts'), ...args], { stdio: 'ignore' });
  const url = `http://${network.gateway}:${port}`;
  for (let tries = 0; tries < 60; tries += 1) {
    if (
      await fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return { url, server };
    await sleep(500);
  }
  server.kill();
  throw new Error(`${url} does not answer`);
}

/** Puts both images, and one more name of each for the upgrade, onto the nodes. */
async function imagesOnto(
  nodes: readonly LabHost[],
  images: readonly string[],
  folder: string,
): Promise<void> {
  const tags = images.flatMap((image) => [image, `${image.split(':')[0]}:${LATER}`]);
  for (const image of images) await docker(['tag', image, `${image.split(':')[0]}:${LATER}`]);
  const path = join(folder, 'images.tar');
  await docker(['save', '-o', path, ...tags], STEP_MS);
  const stamp = (await docker(['inspect', '--format={{.Id}}', ...images]))
    .replaceAll(/\W+/g, '-')
    .slice(0, 60);
  await loadImages(nodes, { path, stamp, tags: tags.map((tag) => `docker.io/library/${tag}`) }, say);
}

const CLUSTER_SCOPED: readonly [group: string, version: string, plural: string, kind: string][] = [
  ['rbac.authorization.k8s.io', 'v1', 'clusterroles', 'ClusterRole'],
  ['rbac.authorization.k8s.io', 'v1', 'clusterrolebindings', 'ClusterRoleBinding'],
  ['admissionregistration.k8s.io', 'v1', 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'],
  ['admissionregistration.k8s.io', 'v1', 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'],
  ['admissionregistration.k8s.io', 'v1', 'validatingadmissionpolicies', 'ValidatingAdmissionPolicy'],
  ['', 'v1', 'persistentvolumes', 'PersistentVolume'],
];

/** Returns the names of objects of the operator that are not in a namespace, and of its namespaces. */
async function traces({ client }: Meta): Promise<string[]> {
  const kinds = CLUSTER_SCOPED.map(([group, version, plural, kind]): Resource => {
    return { group, version, plural, kind, namespaced: false };
  });
  const lists = await Promise.all([...kinds, NAMESPACES].map((kind) => client.list<KubeObject>(kind)));
  return lists
    .flatMap(({ items }) => items.map(({ metadata }) => metadata.name ?? ''))
    .filter((name) => name.startsWith('matryoshka') && name !== NAMESPACE)
    .sort();
}

/** Throws unless a task of Ansible leads to the REST request that began it. */
async function leadsToRequest(collector: Collector): Promise<void> {
  const path = await collector.pathOf('matryoshka-runner', TASK);
  const text = path.map(({ service, name }) => `${name} (${service})`).join(' < ');
  say(`a trace: ${text}`);
  const services = path.map(({ service }) => service?.replace('matryoshka-', ''));
  if (services.join() !== 'runner,runner,runner,controller,server')
    throw new Error(`the trace has other programs: ${text}`);
}

async function main(): Promise<void> {
  await ensureDocker(say);
  const folder = await mkdtemp(join(tmpdir(), 'chart-cluster-'));
  const program = await helm(say);
  const [[plane, worker, host], images] = await Promise.all([
    labUp(HOSTS, say),
    operatorImages(say),
    fillArtifacts(artifactsDir, say),
  ]);
  if (!plane || !worker || !host) throw new Error('the lab has too few hosts');
  const { url, server } = await serveArtifacts();
  using collector = await startCollector();
  const kubeconfig = join(labDir, 'bench-by-hand.kubeconfig');
  try {
    await byHand(url, [plane, worker], say);
    await imagesOnto([plane, worker], [images.operator, images.runner], folder);
    const values = {
      image: { repository: repositoryOf(images.operator), tag: tagOf(images.operator) },
      runnerImage: { repository: repositoryOf(images.runner), tag: tagOf(images.runner) },
      server: { addresses: [worker.ip, plane.ip], service: { type: 'NodePort', nodePort: REST_PORT } },
      site: {
        artifacts: {
          ...siteArtifacts(url, await readFile(join(artifactsDir, SUMS_FILE), 'utf8')),
          reservedNetworks: [`${plane.ip}/32`, `${worker.ip}/32`, '10.244.0.0/16', '10.96.0.0/16'],
        },
        inventoryVars: parse(await readFile(join(ROOT, 'lab/inventory-vars.yaml'), 'utf8')),
      },
      monitoring: { traces: { endpoint: `http://${network.gateway}:${collector.port}` } },
    };
    const valuesPath = join(folder, 'values.json');
    const release = async (verb: 'install' | 'upgrade', more: object = {}) => {
      await writeFile(valuesPath, JSON.stringify({ ...values, ...more }));
      await announced(say, `helm ${verb}`, () =>
        execa(
          program,
          [
            ...[verb, RELEASE, CHART, '--namespace', NAMESPACE, '--kubeconfig', kubeconfig],
            ...['--values', valuesPath, '--wait', '--timeout', WAIT],
            ...(verb === 'install' ? ['--create-namespace'] : []),
          ],
          { env: { HOME: folder }, timeout: STEP_MS, stdin: 'ignore' },
        ),
      );
    };
    await release('install');

    const caPath = join(folder, 'ca.crt');
    const bootstrapped = { restUrl: `https://${worker.ip}:${REST_PORT}`, artifactsUrl: url };
    await writeFile(caPath, '');
    const meta = await openInstalled({ kubeconfigOut: kubeconfig, caOut: caPath }, bootstrapped, worker, [
      host,
    ]);
    const key = { namespace: NAMESPACE, name: 'matryoshka-ca' };
    const { data } = await meta.client.get<ConfigMap>(CONFIG_MAPS, key);
    await writeFile(caPath, data?.['ca.crt'] ?? '');
    await mkdir(join(folder, 'home'));
    /** Calls the command line as a user does. */
    const matryoshka = async (args: readonly string[], input = ''): Promise<string> => {
      const { stdout } = await announced(say, `matryoshka ${args.join(' ')}`, () =>
        execa(process.execPath, [join(ROOT, 'src/main.ts'), ...args], {
          env: { HOME: join(folder, 'home') },
          input,
          timeout: STEP_MS,
          stderr: ['pipe', 'inherit'],
        }),
      );
      return stdout;
    };
    await matryoshka(['login', '--server', bootstrapped.restUrl, '--ca', caPath], meta.token);
    await matryoshka(['create', NAME, '--control-planes', host.ip, '--ssh-key', keyPath, '--wait']);
    say(await matryoshka(['get', '-o', 'wide']));
    await leadsToRequest(collector);
    await matryoshka(['doctor', '--kubeconfig', kubeconfig]);

    // The operator is replaced while an operation runs.
    const renewal = matryoshka(['renew', NAME, '--wait']);
    await release('upgrade', { image: { ...values.image, tag: LATER } });
    await renewal;
    const history = await matryoshka(['history', NAME, '-o', 'json']);
    if (!/"operation": "renew",[^}]*"result": "finished"/s.test(history))
      throw new Error(`the renewal did not finish: ${history}`);
    await matryoshka(['kubeconfig', NAME, '--to', join(folder, 'demo.kubeconfig')]);
    await matryoshka(['delete', NAME, '--yes', '--wait']);

    await announced(say, 'helm uninstall', () =>
      execa(program, ['uninstall', RELEASE, '--namespace', NAMESPACE, '--kubeconfig', kubeconfig, '--wait'], {
        env: { HOME: folder },
        timeout: STEP_MS,
      }),
    );
    let left: string[] = [];
    // A namespace is removed after its objects.
    for (let tries = 0; tries < 60; tries += 1) {
      left = await traces(meta);
      if (left.length === 0) break;
      await sleep(1_000);
    }
    await meta.close();
    if (left.length > 0) throw new Error(`helm uninstall has left ${left.join(', ')}`);
    process.stdout.write(
      'chart-cluster: installed, upgraded during an operation, and removed without a trace\n',
    );
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true });
    if (process.env['KEEP'] !== '1') await labDown(say);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`chart-cluster: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
