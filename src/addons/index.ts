/**
 * Lists the add-ons: systems beside the clusters, each a separate program with its own namespace and rights. An add-on needs
 * nothing of the operator, and the operator imports no add-on.
 */

import type { Addon } from './addon.ts';
import { ingress } from './ingress/addon.ts';
import { localService } from './local-service/addon.ts';
import { network } from './network/addon.ts';
import { workspace } from './workspace/addon.ts';

export const addons: readonly Addon[] = [localService, network, workspace, ingress];
