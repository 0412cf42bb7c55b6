import type { Perform } from './effect.ts';

/** Writes what a run reported of its hosts into their records, with an Event for each host that needs attention. */
export const noteHosts: Perform<'note'> = async ({ hosts: noted }, { clusterId }, { hosts, event }) => {
  for (const { ip, status, warning } of noted) {
    await hosts.note(clusterId, ip, status);
    if (warning) event('Warning', warning.reason, warning.message);
  }
};

/** Writes roles and labels of the spec into the records. */
export const rewriteHosts: Perform<'rewrite'> = async ({ hosts: clusterHosts }, { clusterId }, { hosts }) => {
  for (const host of clusterHosts) await hosts.rewrite(clusterId, host);
};
