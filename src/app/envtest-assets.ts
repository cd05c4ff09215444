import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';

/** What `podtender envtest-assets` writes. */
export interface EnvtestAssetsOptions {
  readonly dir: string;
  /** The Node.js that runs the launchers. */
  readonly node: string;
  /** bin/podtender.mjs of this package. */
  readonly program: string;
  readonly version: string;
}

const mark = 'Written by podtender';

/** Quotes a word for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs podtender in place of the shell, so that signals and kills reach it. */
const launcher = (name: string, { node, program, version }: EnvtestAssetsOptions): string => `#!/bin/sh
# ${mark} ${version}: runs its API server in place of ${name}.
node=${quoted(node)}
[ -x "$node" ] || node=node
exec "$node" ${quoted(program)} ${name} "$@"
`;

/** Finds a kubectl that is not one of these launchers: $PODTENDER_KUBECTL, else the first on the PATH. */
const kubectl = ({ version }: EnvtestAssetsOptions): string => `#!/bin/sh
# ${mark} ${version}: runs the machine's kubectl.
if [ -n "$PODTENDER_KUBECTL" ]; then exec "$PODTENDER_KUBECTL" "$@"; fi
self=$(cd "$(dirname "$0")" && pwd -P)
IFS=:
for folder in $PATH; do
  [ -x "$folder/kubectl" ] || continue
  [ "$(cd "$folder" 2>/dev/null && pwd -P)" = "$self" ] && continue
  head -c 200 "$folder/kubectl" 2>/dev/null | grep -q '${mark}' && continue
  unset IFS
  exec "$folder/kubectl" "$@"
done
echo "kubectl: there is no kubectl on the PATH: install it (https://kubernetes.io/docs/tasks/tools/), or set PODTENDER_KUBECTL to its file" >&2
exit 127
`;

/**
 * Writes launchers named kube-apiserver, etcd and kubectl into a directory, for KUBEBUILDER_ASSETS and the like.
 *
 * @returns the files
 * @throws {AgentError} when the directory cannot be written, or has programs of these names that are not launchers
 */
export function writeEnvtestAssets(options: EnvtestAssetsOptions): readonly string[] {
  if (process.platform === 'win32')
    throw new AgentError(
      'failed_precondition',
      'the launchers are shell scripts: Windows needs WSL, or podtender apiserver with USE_EXISTING_CLUSTER=true',
    );
  const texts = {
    'kube-apiserver': launcher('kube-apiserver', options),
    etcd: launcher('etcd', options),
    kubectl: kubectl(options),
  };
  try {
    mkdirSync(options.dir, { recursive: true });
    const files = Object.entries(texts).map(([name, text]) => [join(options.dir, name), text] as const);
    for (const [file] of files) refuseOther(file);
    for (const [file, text] of files) {
      writeFileSync(file, text, { mode: 0o755 });
      chmodSync(file, 0o755); // also for an existing file
    }
    return files.map(([file]) => file);
  } catch (reason) {
    if (reason instanceof AgentError) throw reason;
    throw new AgentError('invalid_argument', `${options.dir}: ${messageOf(reason)}`, { cause: reason });
  }
}

function refuseOther(file: string): void {
  if (!existsSync(file) || readFileSync(file, 'latin1').slice(0, 200).includes(mark)) return;
  throw new AgentError(
    'invalid_argument',
    `${file} exists and is no launcher of podtender: name another directory, or remove it`,
  );
}
