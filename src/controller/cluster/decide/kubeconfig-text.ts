import { parse } from 'yaml';

/** A longer text is none of ours: one that we write has 6 KB. */
const MAX_CHARACTERS = 64 * 1024;

/**
 * What the text of a kubeconfig says, of which nothing is known yet. It lies in the user's namespace and is his to edit,
 * and whoever reads it serves all clusters: one that would take long is refused. Throws where it is refused or no YAML.
 */
export function readKubeconfig(text: string): unknown {
  if (text.length > MAX_CHARACTERS) throw new Error(`a kubeconfig has at most ${MAX_CHARACTERS} characters`);
  // To find keys that are there twice takes the square of their number; of two, the last counts.
  return parse(text, { uniqueKeys: false, maxAliasCount: 0 });
}
