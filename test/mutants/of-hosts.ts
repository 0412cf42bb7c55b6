import type { Mutant } from './mutant.ts';

/** Guarantees of scripts on hosts with a full disk, links, unexpected bytes or noisy shells. */
export const ofHosts: readonly Mutant[] = [
  {
    name: 'what does not fit on the disk takes the place of what was there',
    file: 'ansible/files/fence',
    from: `said=$({ rm -f "$new" && printf %s "$3" | tee "$new" > /dev/null && chmod "$2" "$new" && sync "$new"; } 2>&1) &&
      { [ "$(cat "$new" && echo .)" = "$3." ] || { said='it reads other than it was written'; false; }; } &&`,
    to: 'printf %s "$3" > "$new" 2> /dev/null; chmod "$2" "$new";',
    witness: {
      project: 'unit',
      file: 'test/roles/full-disk.test.ts',
      test: 'the fence keeps the previous owner',
    },
  },
  {
    name: 'half of a path is undone',
    file: 'ansible/files/prelude.sh',
    from: `  while IFS= read -r line; do printf '%s\\n' "$line"; done 2>/dev/null < "$manifest"
  true`,
    to: `  cat "$manifest" 2>/dev/null
  true`,
    witness: {
      project: 'unit',
      file: 'test/roles/manifest.test.ts',
      test: 'ignores an incomplete last line',
    },
  },
  {
    name: 'a reset takes what is behind a link',
    file: 'ansible/files/prelude.sh',
    from: '    is_empty "$path" && return\n',
    to: '    rm -rf "$path"/*; return\n',
    witness: {
      project: 'unit',
      file: 'test/roles/manifest.test.ts',
      test: 'never removes the target of a link',
    },
  },
  {
    name: 'lines of /etc/hosts that are no text are lost',
    file: 'ansible/roles/host/files/endpoint.sh',
    from: 'grep -av \'# matryoshka \' "$1"',
    to: 'grep -v \'# matryoshka \' "$1"',
    witness: { project: 'unit', file: 'test/roles/hosts-file.test.ts', test: '/etc/hosts keeps every byte' },
  },
  {
    name: 'what the shell of a host says is part of the answer',
    file: 'src/ssh/framed.ts',
    from: 'const rest = text.slice(start + marker.length + 1);',
    to: 'const rest = text.slice(0, start) + text.slice(start + marker.length + 1);',
    witness: {
      project: 'unit',
      file: 'src/precheck/real-host.test.ts',
      test: 'returns a file unchanged, without output of the shell',
    },
  },
  {
    name: 'a playbook hears the shell of a host',
    file: 'ansible/plugins/action/host_script.py',
    from: 'file.write(stdout)',
    to: "file.write(answer['stdout'])",
    witness: {
      project: 'unit',
      file: 'test/roles/host-script.test.ts',
      test: 'returns an output file byte for byte',
    },
  },
  {
    name: 'commands find the proxies of a host',
    file: 'src/ssh/framed.ts',
    from: 'exec /usr/bin/env -i HOME=',
    to: 'exec /usr/bin/env HOME=',
    witness: {
      project: 'unit',
      file: 'src/precheck/real-host.test.ts',
      test: 'runs commands in a clean environment',
    },
  },
];
