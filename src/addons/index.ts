/**
 * Lists the add-ons: systems beside the clusters. Each runs as a separate program with its own namespace and rights, and
 * needs nothing of the operator.
 */

import type { Addon } from './addon.ts';
import { ingress } from './ingress/addon.ts';
import { localService } from './local-service/addon.ts';
import { network } from './network/addon.ts';
import { workspace } from './workspace/addon.ts';

export const addons: readonly Addon[] = [localService, network, workspace, ingress];
