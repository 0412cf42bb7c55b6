import type { KubeObject } from '#api/meta.ts';
import type { Controller } from '#runtime/controller.ts';
import type { Informer } from '#runtime/informer.ts';
import { type ClusterRoomDeps, clusterRoom } from './cluster/room.ts';

/** A controller with the caches that it reads. */
export interface Room {
  controllers: Controller[];
  caches: Informer<KubeObject>[];
}

/** Every controller. */
export const rooms = (deps: ClusterRoomDeps): Room[] => [clusterRoom(deps)];
