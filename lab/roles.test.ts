import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ansible = join(import.meta.dirname, '..', 'ansible');
const Variables = z.record(z.string(), z.unknown());
const Spec = z.object({ argument_specs: z.object({ inventory: z.object({ options: Variables }) }) });
const read = async (path: string) => parse(await readFile(path, 'utf8'));
const declared = Object.keys(
  Spec.parse(await read(join(ansible, 'roles/settings/meta/argument_specs.yml'))).argument_specs.inventory
    .options,
);

describe('the roles', () => {
  it('have no word of the lab: what only lab hosts need are values of ordinary variables', async () => {
    const entries = await readdir(ansible, { recursive: true, withFileTypes: true });
    const telling: string[] = [];
    for (const entry of entries.filter((item) => item.isFile() && !item.name.endsWith('.pyc'))) {
      const path = join(entry.parentPath, entry.name);
      const lines = (await readFile(path, 'utf8')).split('\n');
      telling.push(
        ...lines
          .filter((line) => /\blab\b|\blab[-_]|in_docker|10\.88\.0\./i.test(line))
          .map((line) => `${path}: ${line}`),
      );
    }
    expect(telling).toEqual([]);
  });

  it('declare every variable that the lab sets', async () => {
    const set = Object.keys(Variables.parse(await read(join(import.meta.dirname, 'inventory-vars.yaml'))));
    expect(set.filter((name) => !declared.includes(name))).toEqual([]);
  });

  it('have a default for each optional variable, and describe each in the README', async () => {
    const spec = Spec.parse(await read(join(ansible, 'roles/settings/meta/argument_specs.yml')));
    const defaults = Variables.parse(await read(join(ansible, 'roles/settings/defaults/main.yml')));
    const readme = await readFile(join(ansible, 'README.md'), 'utf8');
    const Option = z.object({ required: z.boolean().optional() });
    const optional = Object.entries(spec.argument_specs.inventory.options)
      .filter(([, option]) => !Option.parse(option).required)
      .map(([name]) => name);
    expect(optional.filter((name) => !(name in defaults))).toEqual([]);
    expect(declared.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });
});
