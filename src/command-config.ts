import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { LIST, PORT, PORT_ERROR, SHORT } from './options.ts';

/** Settings of the commands that end by themselves; those of serving programs are in `config.ts`. */

const kubeVersion = z.string().optional().describe('Kubernetes version; default: the newest offered');
export const listConfig = z.object({ kubeVersion });
export const pullConfig = z.object({
  from: z.string().default('upstream').describe('Source: "upstream", or the URL of a mirror'),
  to: z.string({ error: 'is missing; name a directory' }).describe('Directory for the files and SHA256SUMS'),
  kubeVersion,
});
export const checkConfig = z.object({
  source: z
    .string({ error: 'is missing; name a directory or the URL of a mirror' })
    .describe('Directory or URL of a mirror, with SHA256SUMS'),
  kubeVersion,
});

export const siteConfig = z.object({
  source: z
    .string({ error: 'is missing; name a directory or the URL of a mirror' })
    .describe('Directory or URL of a mirror, with SHA256SUMS'),
  baseUrl: z.string().optional().describe('URL from which hosts get the files; default: the mirror'),
  reservedNetworks: LIST.default([]).describe(
    'Networks of the meta cluster, comma-separated: hosts, pods and Services. No host of a cluster may be in one',
  ),
});

export const precheckConfig = z.object({
  inventory: z.string().optional().describe('YAML file with the hosts (docs/precheck.md)'),
  fromCluster: z.string().optional().describe('Name of a KubernetesCluster whose hosts are checked'),
  namespace: z
    .string()
    .default('default')
    .describe('Namespace of that cluster')
    .register(SHORT, { letter: 'n' }),
  kubeconfig: z.string().optional().describe('Path of your kubeconfig; default: ~/.kube/config'),
  knownHosts: z
    .string()
    .optional()
    .describe('known_hosts file of the hosts; default: accept and show the keys'),
  artifactsUrl: z
    .string()
    .optional()
    .describe('URL that hosts must reach, for example that of the artifacts'),
  output: z
    .enum(['table', 'json', 'junit'], { error: 'is none of table, json and junit' })
    .default('table')
    .describe('Output format: table, json or junit')
    .register(SHORT, { letter: 'o' }),
});

const operatorNamespace = z.string().default('matryoshka-system').describe('Namespace of the operator');
const metaKubeconfig = z
  .string()
  .optional()
  .describe('Kubeconfig of the meta cluster’s administrator; default: ~/.kube/config');
export const backupConfig = z.object({
  to: z.string({ error: 'is missing; name a file' }).describe('File for the backup'),
  recipient: z
    .string({ error: 'is missing; write the line age1… that age-keygen prints' })
    .describe('Public key of age for which the backup is encrypted'),
  kubeconfig: metaKubeconfig,
  operatorNamespace,
});
export const restoreConfig = z.object({
  from: z.string({ error: 'is missing; name a file' }).describe('File of the backup'),
  identity: z
    .string({ error: 'is missing; name the file that age-keygen has written' })
    .describe('File with the key AGE-SECRET-KEY-1… of the backup'),
  kubeconfig: metaKubeconfig,
  operatorNamespace,
});

const home = (name: string): string => join(homedir(), '.matryoshka', name);

export const bootstrapConfig = z.object({
  host: z
    .string({ error: 'is missing; name the host of the meta cluster, or three' })
    .pipe(LIST)
    .describe('Address of the host of the meta cluster, or three, comma-separated'),
  port: PORT.min(1, PORT_ERROR).default(22).describe('SSH port of the hosts'),
  user: z
    .string()
    .default('root')
    .describe('SSH user of the hosts: root, or a user with sudo without a password'),
  nodeName: z
    .string()
    .default('meta')
    .describe('Node name of the first host; the others are NAME-2 and NAME-3'),
  sshKey: z.string().default(join(homedir(), '.ssh/id_ed25519')).describe('Private key for SSH'),
  knownHosts: z
    .string()
    .optional()
    .describe('known_hosts file with the host’s key; default: accept the key at the first contact'),
  artifacts: z
    .string({ error: 'is missing; say upstream, a URL or a directory' })
    .describe('Source of the artifacts: "upstream", the URL of a mirror, or a directory with SHA256SUMS'),
  inventoryVars: z
    .string()
    .optional()
    .describe('YAML file with role variables of this site (ansible/README.md)'),
  kubeVersion: z
    .string()
    .optional()
    .describe('Kubernetes version of the meta cluster; default: the newest offered'),
  podCidr: z
    .string()
    .default('10.245.0.0/16')
    .describe('Pod network of the meta cluster, or two networks: IPv4,IPv6'),
  serviceCidr: z
    .string()
    .default('10.97.0.0/16')
    .describe('Service network of the meta cluster, of the same families'),
  servedNamespaces: LIST.default(['default']).describe(
    'Namespaces in which users may create clusters, comma-separated',
  ),
  addons: LIST.default([]).describe('Add-ons to install, by name, comma-separated (deploy/addons)'),
  operatorImage: z.string().default('matryoshka-operator').describe('Operator image in the local Docker'),
  runnerImage: z.string().default('matryoshka-runner').describe('Runner image in the local Docker'),
  kubeconfigOut: z
    .string()
    .default(home('meta.kubeconfig'))
    .describe("Path for the meta cluster's kubeconfig"),
  caOut: z.string().default(home('ca.crt')).describe("Path for the certificate of the REST API's authority"),
});
