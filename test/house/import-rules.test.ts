import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

/** Proves that the rules of .dependency-cruiser.mjs, which `make lint` checks, refuse the imports that they are for. */
const patterns = z.union([z.string(), z.array(z.string())]).transform((one) => [one].flat());
const sideSchema = z.looseObject({ path: patterns.optional(), pathNot: patterns.optional() });
const configSchema = z.looseObject({
  forbidden: z.array(z.looseObject({ name: z.string(), from: sideSchema, to: sideSchema })),
});
const loaded: unknown = await import(join(import.meta.dirname, '../../.dependency-cruiser.mjs'));
const { forbidden } = z.object({ default: configSchema }).parse(loaded).default;

const anyOf = (list: readonly string[], text: string, groups: readonly string[] = []) =>
  list
    .map((one) => one.replaceAll(/\$(\d)/g, (_, at) => groups[Number(at)] ?? ''))
    .map((one) => new RegExp(one).exec(text));

/** Returns the names of the rules that refuse an import, by paths alone. */
function refusing(from: string, to: string): string[] {
  return forbidden.flatMap((rule) => {
    if (Object.keys(rule.to).some((key) => key !== 'path' && key !== 'pathNot')) return [];
    const groups = anyOf(rule.from.path ?? ['.*'], from).find((found) => found !== null);
    if (!groups || anyOf(rule.from.pathNot ?? [], from).some(Boolean)) return [];
    const leader = anyOf(rule.to.path ?? ['.*'], to, groups).some(Boolean);
    return leader && !anyOf(rule.to.pathNot ?? [], to, groups).some(Boolean) ? [rule.name] : [];
  });
}

describe('an import is refused', () => {
  it.each([
    ['of a folder above', 'src/base/clock.ts', 'src/runtime/client/client.ts'],
    ['of the lab by the product', 'src/server/http/app.ts', 'lab/main.ts'],
    ['of the lab by shared set-ups of tests', 'src/server/testing/rest-world.ts', 'lab/main.ts'],
    [
      'of another folder by shared set-ups of tests',
      'src/base/testing/key-pair.ts',
      'src/server/http/app.ts',
    ],
    ['of the lab by a test', 'src/webhook/webhook.api.test.ts', 'lab/main.ts'],
    [
      'of the runtime by what decides',
      'src/controller/cluster/decide/table.ts',
      'src/runtime/client/client.ts',
    ],
    ['of another add-on', 'src/addons/network/addon.ts', 'src/addons/ingress/addon.ts'],
    ['of the proxy by routing', 'src/addons/ingress/routing/compile.ts', 'src/addons/ingress/proxy/state.ts'],
    [
      'of the controller by the proxy',
      'src/addons/ingress/proxy/program.ts',
      'src/addons/ingress/controller/controller.ts',
    ],
    [
      'of a higher layer of the runtime',
      'src/runtime/cache/informer.ts',
      'src/runtime/controller/controller.ts',
    ],
    ['of a folder without a rule', 'src/main.ts', 'src/unknown/file.ts'],
  ])('%s', (_what, from, to) => {
    expect(refusing(from, to)).not.toEqual([]);
  });
});

describe('an import is allowed', () => {
  it.each([
    ['of a folder below', 'src/server/http/app.ts', 'src/base/errors.ts'],
    ['of the API server by a test', 'src/webhook/webhook.api.test.ts', 'lab/apiserver/start.ts'],
    ['of routing by the proxy', 'src/addons/ingress/proxy/state.ts', 'src/addons/ingress/routing/paths.ts'],
  ])('%s', (_what, from, to) => {
    expect(refusing(from, to)).toEqual([]);
  });
});
