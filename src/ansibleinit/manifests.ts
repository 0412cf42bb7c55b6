import { gunzipSync } from 'node:zlib';
import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { describeFile, type ManifestFile } from '#protocol/manifests.ts';

/** Result of the checks of a user's manifests before any host changes. kubectl, which applies them, reports the rest. */
export interface ManifestsSeen {
  /** Lines for valid files, one for each. */
  files: string[];
  /** Problems that make files invalid, each with its place. */
  problems: string[];
}

/** Number of a file's problems in a message, and length of each: they quote the file. */
const NAMED = 10;
const MAX_PROBLEM = 200;

const listSchema = z.looseObject({ kind: z.string().regex(/List$/), items: z.array(z.unknown()) });
const kindSchema = z.looseObject({ apiVersion: z.string().min(1), kind: z.string().min(1) });
const namedSchema = z.looseObject({ metadata: z.looseObject({ name: z.string().min(1) }) });

/** Checks files of a run spec, without asking a server. */
export function checkManifests(files: readonly ManifestFile[]): ManifestsSeen {
  const seen: ManifestsSeen = { files: [], problems: [] };
  for (const { name, content } of files) {
    const { objects, problems } = inspect(gunzipSync(Buffer.from(content, 'base64')).toString('utf8'));
    const where = describeFile(name);
    const more = problems.length - NAMED;
    const said = problems.slice(0, NAMED).map((problem) => problem.slice(0, MAX_PROBLEM));
    seen.problems.push(...said.map((problem) => `${where}, ${problem}`));
    if (more > 0) seen.problems.push(`${where}: ${more} more problems`);
    if (objects === 0 && problems.length === 0) seen.problems.push(`${where}: holds no object`);
    seen.files.push(`${where}, objects: ${objects}`);
  }
  return seen;
}

function inspect(text: string): { objects: number; problems: string[] } {
  const lines = new LineCounter();
  // The options match kubectl's parser, YAML 1.1. They leave out expensive checks: duplicate keys, and errors with context.
  const documents = parseAllDocuments(text, {
    version: '1.1',
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: lines,
  });
  let objects = 0;
  const problems: string[] = [];
  for (const [index, document] of documents.entries()) {
    const where = `document ${index + 1}`;
    const value = objectIn(document, lines);
    if ('problem' in value) problems.push(`${where}: ${value.problem}`);
    // A document between two separators may be empty, or have only comments.
    else if (value.object !== null) {
      const found = checkObject(value.object, where);
      objects += found.objects;
      problems.push(...found.problems);
    }
  }
  return { objects, problems };
}

function objectIn(document: Document, lines: LineCounter): { object: unknown } | { problem: string } {
  const [error] = document.errors;
  if (error) return { problem: `line ${lines.linePos(error.pos[0]).line}: is no YAML: ${error.message}` };
  try {
    const object: unknown = document.toJS({ maxAliasCount: 100 });
    return { object };
  } catch {
    return { problem: 'is no YAML that can be read: its aliases lead nowhere, or to too much' };
  }
}

const SECRET =
  'is a Secret, and a ConfigMap is no place for one; leave it out and make it in the cluster once that is there';

function checkObject(object: unknown, where: string): { objects: number; problems: string[] } {
  const list = listSchema.safeParse(object);
  if (list.success) {
    const items = list.data.items.map((item, index) => checkObject(item, `${where}, item ${index + 1}`));
    return {
      objects: items.reduce((sum, item) => sum + item.objects, 0),
      problems: items.flatMap((item) => item.problems),
    };
  }
  const kind = kindSchema.safeParse(object);
  const refused = (why: string) => ({ objects: 0, problems: [`${where}: ${why}`] });
  if (!kind.success) return refused('has no apiVersion or no kind; each object needs both');
  const said = `${kind.data.apiVersion} ${kind.data.kind}`;
  if (said === 'v1 Secret') return refused(SECRET);
  if (!namedSchema.safeParse(object).success)
    return refused(`${said} has no metadata.name; give it one, so that it can be applied again`);
  return { objects: 1, problems: [] };
}
