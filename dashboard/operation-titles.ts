/** Names of operations for people, by their names in the API: in menus, forms and the history. */
const TITLES: Readonly<Record<string, string>> = {
  create: 'Create',
  'scale-up': 'Add hosts',
  'scale-down': 'Remove hosts',
  replace: 'Replace a host',
  update: 'Upgrade Kubernetes',
  reconfigure: 'Change settings',
  relabel: 'Change labels',
  'move-etcd': 'Move etcd',
  renew: 'Renew certificates',
  rotate: 'Rotate keys',
  repair: 'Repair hosts',
  snapshot: 'Save a snapshot of etcd',
  restore: 'Restore a snapshot',
  rollback: 'Undo an unfinished upgrade',
  delete: 'Delete the cluster',
};

/** Returns the title of an operation; of one that this page does not know, its name. */
export const titleOf = (operation: string): string => TITLES[operation] ?? operation;
