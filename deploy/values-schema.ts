import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { siteVariables } from '#bootstrap/site-vars.ts';

/**
 * Writes the names and types of `site.inventoryVars` into the schema of the chart's values: `node deploy/values-schema.ts`. So
 * Helm refuses a misspelt one, as bootstrap does.
 */

const PATH = join(import.meta.dirname, 'chart/values.schema.json');
const ARGUMENT_SPECS = join(import.meta.dirname, '../ansible/roles/settings/meta/argument_specs.yml');

/** Returns the schema with the variables that roles know. */
export function valuesSchema(): unknown {
  const { $schema: _version, ...inventoryVars } = z.toJSONSchema(
    z.strictObject(siteVariables(ARGUMENT_SPECS)).partial(),
  );
  const withVariables = (key: string, value: unknown): unknown =>
    key === 'inventoryVars' ? inventoryVars : value;
  return JSON.parse(readFileSync(PATH, 'utf8'), withVariables);
}

if (import.meta.main) writeFileSync(PATH, `${JSON.stringify(valuesSchema(), undefined, 2)}\n`);
