import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lists } from './all.ts';
import { copyOfTree } from './copy.ts';
import { type Mutant, mutated, nameOf, occurrences } from './mutant.ts';
import { hear } from './witness.ts';

/**
 * `make mutants`: breaks the product in one place at a time, in a copy of the tree, and runs the test that must fail. First
 * it runs each of these tests on the unchanged product. MUTANT=text selects the mutants with that text in their name,
 * LIST=of-keys,of-etcd those of these files.
 */
const root = join(import.meta.dirname, '../..');
const wanted = process.env['MUTANT'] ?? '';
const asked = process.env['LIST'] || Object.keys(lists).join();
const mutants = asked
  .split(',')
  .flatMap((name) => lists[name] ?? unknownList(name))
  .filter(({ name }) => name.includes(wanted));

function unknownList(name: string): never {
  process.stderr.write(`LIST: ${name} is none of ${Object.keys(lists).join(', ')}\n`);
  process.exit(2);
}

const say = (...columns: string[]) => process.stdout.write(`${columns.join('\t')}\n`);
const seconds = (began: number) => ((performance.now() - began) / 1000).toFixed(1);
let bad = 0;

if (mutants.length === 0) {
  process.stderr.write(`MUTANT: no mutant of ${asked} has "${wanted}" in its name\n`);
  process.exit(2);
}

await using copy = await copyOfTree(root);

const began = performance.now();
for (const witness of new Map(mutants.map((mutant) => [nameOf(mutant.witness), mutant.witness])).values()) {
  const { word, output } = await hear(witness, copy.dir);
  if (word === 'green') continue;
  bad += 1;
  say('BASELINE', `is ${word}`, nameOf(witness));
  say(output);
}
say(`every test was run on the product as it is: ${bad} failed, ${seconds(began)} s`);

for (const mutant of bad === 0 ? mutants : []) await judge(mutant);
say(`${mutants.length} mutants, ${bad} survived or could not be judged, ${seconds(began)} s`);
process.exitCode = bad === 0 ? 0 : 1;

async function judge(mutant: Mutant): Promise<void> {
  const start = performance.now();
  const path = join(copy.dir, mutant.file);
  const text = await readFile(path, 'utf8');
  const found = occurrences(text, mutant);
  if (found !== 1) {
    bad += 1;
    say('NOT FOUND', mutant.name, `its text stands ${found} times in ${mutant.file}`);
    return;
  }
  await writeFile(path, mutated(text, mutant));
  const { word, output } = await hear(mutant.witness, copy.dir);
  await writeFile(path, text);
  const verdict = { red: 'killed', green: 'SURVIVED', broken: 'BROKEN' }[word];
  say(verdict, mutant.name, nameOf(mutant.witness), `${seconds(start)} s`);
  if (word !== 'red') bad += 1;
  if (word === 'broken') say(output);
}
