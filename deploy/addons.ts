import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { addons } from '#addons/index.ts';
import { installationOf } from '#addons/installation.ts';

/** The text of each file under deploy/addons/. `node deploy/addons.ts` writes them. */
export const addonFiles: Readonly<Record<string, string>> = Object.fromEntries(
  addons.map((addon) => [
    `${addon.name}.yaml`,
    [
      `# ${addon.summary}. Made by "node deploy/addons.ts" from src/addons.\n`,
      installationOf(addon)
        .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
        .join('---\n'),
    ].join(''),
  ]),
);

if (import.meta.main) {
  for (const [name, text] of Object.entries(addonFiles))
    writeFileSync(join(import.meta.dirname, 'addons', name), text);
}
