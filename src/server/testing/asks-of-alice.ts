import { SECRETS, type Secret } from '#api/core.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import type { RestWorld } from './rest-world.ts';

/** Requests that many tests make, by the user who may do everything in her namespace. */
export function asksOfAlice(world: () => RestWorld) {
  const key = keyPair().private;
  const alice = () => world().tokens.alice;
  const path = (name: string, more = '') =>
    `/region/north/cluster/${name}${more}?namespace=${world().namespace}`;
  const host = (last: number) => ({ ip: `10.9.0.${last}` });
  const body = (more: object = {}) => ({
    masterList: [host(1)],
    nodeList: [host(2)],
    privateSSHKey: key,
    ...more,
  });
  return {
    key,
    alice,
    path,
    host,
    body,
    create: (name: string, more: object = {}) => world().call(alice(), 'POST', path(name), body(more)),
    /** Returns the Secret with the key of a creation. */
    secretOf: (name: string) =>
      world().admin.find<Secret>(SECRETS, { namespace: world().namespace, name: `${name}-ssh` }),
  };
}
