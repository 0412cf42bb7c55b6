import { type Check, type CheckContext, type Findings, fine, warning } from '../check.ts';

const GIB = 1024 ** 3;
/** etcd refuses writes beyond its quota, which is 2 GiB unless a patch sets it (etcd.io, Maintenance). */
const MUCH_DATA = 1.6 * GIB;
/** Minor versions that a kubelet may be older than the API server (kubernetes.io, Version Skew Policy). */
const KUBELET_SKEW = 3;

const minorOf = (version: string): number => Number(/^v?\d+\.(\d+)/.exec(version)?.[1] ?? Number.NaN);
const labelOf = (labels: string, name: string): string =>
  new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';

function oldKubelets({ said, upgradeTo = '' }: CheckContext['host']): string[] {
  return said.all('kubelet').flatMap((line) => {
    const [node, version = ''] = line.split(' ');
    return minorOf(upgradeTo) - minorOf(version) > KUBELET_SKEW
      ? [`node ${node} has the kubelet ${version}, which does not work with ${upgradeTo}; upgrade it first`]
      : [];
  });
}

/** Lists APIs that clients use and that the new version no longer serves. */
function removedApis({ said, upgradeTo = '' }: CheckContext['host']): string[] {
  return said.all('deprecatedApi').flatMap((labels) => {
    const removed = labelOf(labels, 'removed_release');
    if (removed === '' || minorOf(removed) > minorOf(upgradeTo)) return [];
    const [group, version, resource] = ['group', 'version', 'resource'].map((name) => labelOf(labels, name));
    const api = `${group === '' ? '' : `${group}/`}${version} ${resource}`;
    return [`clients use ${api}, which Kubernetes ${removed} no longer serves; change these clients first`];
  });
}

/** Lists disruption budgets that never allow an eviction. */
function fullBudgets({ said }: CheckContext['host']): string[] {
  return said.all('budget').flatMap((line) => {
    const [name, expected = '0', desired = '0'] = line.split(' ');
    return Number(expected) > 0 && Number(desired) >= Number(expected)
      ? [`PodDisruptionBudget ${name} allows no eviction, so workers with its pods cannot be drained`]
      : [];
  });
}

function otherWarnings({ said }: CheckContext['host']): string[] {
  const bytes = said.number('etcdBytes');
  return [
    ...said.all('apiServiceDown').map((name) => `APIService ${name} is not available`),
    ...said.all('webhookDown').map((line) => {
      const [name, service] = line.split(' ');
      return `webhook ${name} has no ready endpoint in Service ${service}, and its failurePolicy is Fail; the API server refuses what it should check`;
    }),
    ...(bytes > MUCH_DATA
      ? [
          `etcd has ${Math.floor((bytes / GIB) * 10) / 10} GiB of data, and refuses writes beyond its quota (2 GiB by default); compact and defragment it`,
        ]
      : []),
  ];
}

const KUBECTL = 'kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=8s';

/**
 * Reports what an upgrade may break, before it begins: old kubelets, APIs that are no longer served, webhooks and APIServices
 * that do not answer, and disruption budgets that allow no eviction. One control plane is asked.
 */
export const upgrade: Check = {
  name: 'upgrade',
  waits: true,
  variables: (host, all) => {
    const first = all.find((one) => one.isMaster && one.upgradeTo !== undefined);
    return first?.ip === host.ip ? { UPGRADES: 'yes' } : {};
  },
  script: () => `[ -n "\${UPGRADES-}" ] || exit 0
say upgradeAsked yes
PATH=/usr/local/bin:$PATH KUBECACHEDIR=$(mktemp -d)
export KUBECACHEDIR
trap 'rm -rf "$KUBECACHEDIR"' EXIT
${KUBECTL} get --raw /metrics |
  sed -n -e 's/^apiserver_requested_deprecated_apis{\\(.*\\)} 1$/@deprecatedApi \\1/p' -e 's/^apiserver_storage_size_bytes{.*} \\(.*\\)$/@etcdBytes \\1/p'
${KUBECTL} get nodes -o 'jsonpath={range .items[*]}@kubelet {.metadata.name} {.status.nodeInfo.kubeletVersion}{"\\n"}{end}'
${KUBECTL} get apiservices -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Available")].status}{"\\n"}{end}' |
  sed -n '/ True$/!s/^\\([^ ]*\\) .*/@apiServiceDown \\1/p'
${KUBECTL} get poddisruptionbudgets -A -o 'jsonpath={range .items[*]}@budget {.metadata.namespace}/{.metadata.name} {.status.expectedPods} {.status.desiredHealthy}{"\\n"}{end}'
{
  ${KUBECTL} get endpointslices -A -o 'jsonpath={range .items[*]}ready {.metadata.namespace}/{.metadata.labels.kubernetes\\.io/service-name} {.endpoints[*].conditions.ready}{"\\n"}{end}'
  for kind in validating mutating; do
    ${KUBECTL} get "$kind"webhookconfigurations -o 'jsonpath={range .items[*]}{range .webhooks[*]}hook {.failurePolicy} {.name} {.clientConfig.service.namespace}/{.clientConfig.service.name}{"\\n"}{end}{end}'
  done
} | awk '$1 == "ready" && / true/ { ready[$2] = 1 } $1 == "hook" && $2 == "Fail" && $4 != "/" && !ready[$4] { print "@webhookDown", $3, $4 }'`,
  good: '',
  check({ host }): Findings {
    if (host.upgradeTo === undefined || !host.said.has('upgradeAsked')) return fine;
    if (!host.said.has('kubelet'))
      return warning(
        'has no API server that answers kubectl, so nothing is known of what the upgrade may break',
      );
    return {
      errors: oldKubelets(host),
      warnings: [...removedApis(host), ...fullBudgets(host), ...otherWarnings(host)],
    };
  },
};
