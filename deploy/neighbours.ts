import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { installationOf } from '#controller/installation.ts';
import { neighbours } from '#controller/neighbours.ts';

/** The text of each file under deploy/neighbours/. `node deploy/neighbours.ts` writes them. */
export const neighbourFiles: Readonly<Record<string, string>> = Object.fromEntries(
  neighbours.map((neighbour) => [
    `${neighbour.name}.yaml`,
    [
      `# ${neighbour.summary}. Made by "node deploy/neighbours.ts" from src/controller.\n`,
      installationOf(neighbour)
        .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
        .join('---\n'),
    ].join(''),
  ]),
);

if (import.meta.main) {
  for (const [name, text] of Object.entries(neighbourFiles))
    writeFileSync(join(import.meta.dirname, 'neighbours', name), text);
}
