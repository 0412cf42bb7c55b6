import { parse } from 'yaml';

/** The controller writes kubeconfigs of 6 KB; a longer text is not one of them. */
const MAX_CHARACTERS = 64 * 1024;

/**
 * Parses the text of a kubeconfig; the caller validates the result. The Secret is in the user's namespace and the user can
 * edit it, while this process serves all clusters. A text that would take long is refused. Throws if the text is refused or
 * is not YAML.
 */
export function readKubeconfig(text: string): unknown {
  if (text.length > MAX_CHARACTERS) throw new Error(`a kubeconfig has at most ${MAX_CHARACTERS} characters`);
  // The check for duplicate keys takes quadratic time. Without it the last of two equal keys counts.
  return parse(text, { uniqueKeys: false, maxAliasCount: 0 });
}
