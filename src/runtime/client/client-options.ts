import type { CallOptions } from '../wire/call.ts';

/** Selection of objects of a kind. */
export interface Selection {
  /** Absent: all namespaces. */
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

export interface ListOptions extends CallOptions, Selection {
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}

export interface WatchOptions extends CallOptions, Selection {
  resourceVersion?: string | undefined;
  /** Time after which the server ends the watch. */
  timeoutSeconds?: number | undefined;
  allowWatchBookmarks?: boolean | undefined;
  /** WatchList: existing objects come first, as ADDED, then a bookmark that marks their end. */
  sendInitialEvents?: boolean | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Whether the server only validates and answers as for a write. */
  dryRun?: boolean | undefined;
  fieldManager?: string | undefined;
  subresource?: string | undefined;
}

export type PatchType = 'merge' | 'json' | 'strategic';

export interface PatchOptions extends WriteOptions {
  type: PatchType;
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string;
  force?: boolean | undefined;
}

export interface DeleteOptions extends CallOptions {
  dryRun?: boolean | undefined;
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined } | undefined;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  gracePeriodSeconds?: number | undefined;
}
