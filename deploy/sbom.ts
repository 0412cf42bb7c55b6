import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { z } from 'zod';

const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional().catch(undefined),
});

/** A component of a CycloneDX document. */
interface Component {
  type: 'application' | 'library' | 'platform';
  name: string;
  version: string;
  purl: string;
  licenses?: { expression: string }[];
}

/** Bill of materials (CycloneDX 1.6, JSON). */
export interface Sbom {
  bomFormat: 'CycloneDX';
  specVersion: '1.6';
  version: 1;
  metadata: { component: Component };
  components: Component[];
}

/** Returns the folder of the package that a file is in; undefined for a file of the project. */
const packageFolder = (path: string): string | undefined =>
  /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];

/** Returns the component of a folder with a package.json. Purls are those of the package-url specification. */
function componentIn(folder: string, type: Component['type']): Component {
  const { name, version, license } = packageSchema.parse(
    JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
  );
  return {
    type,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
  };
}

/** Returns what is in the bundles, with packages whose files stand beside them. */
export function sbomOf(root: string, bundles: readonly Metafile[], beside: readonly string[]): Sbom {
  const files = bundles.flatMap(({ inputs }) => Object.keys(inputs));
  const folders = new Set([
    ...files.flatMap((path) => packageFolder(path) ?? []),
    ...beside.map((name) => `node_modules/${name}`),
  ]);
  const libraries = [...folders].map((folder) => componentIn(join(root, folder), 'library'));
  const components = [componentIn(join(root, 'node_modules/node'), 'platform'), ...libraries];
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: componentIn(root, 'application') },
    components: components.sort((one, other) => (one.purl < other.purl ? -1 : 1)),
  };
}
