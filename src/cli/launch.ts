import { flagHelp, isSet, parseFlags } from '../app/go-flags.ts';
import { etcdFlags, kubeApiServerFlags } from '../app/kube-apiserver-flags.ts';
import { exitCodes } from './exit-codes.ts';
import type { LauncherName } from './program.ts';

/** What a launcher is run with. */
export interface LaunchDeps {
  /** Writes to standard output. */
  readonly write: (text: string) => unknown;
  /** Writes a line to standard error. */
  readonly warn: (line: string) => void;
  /** Calls back at each SIGINT, SIGTERM and SIGHUP; the returned function ends that. */
  readonly onSignal: (listener: () => void) => () => void;
}

/** A started program. */
interface Started {
  readonly ready: string;
  stop(): Promise<void>;
}

const programs = {
  'kube-apiserver': { flags: kubeApiServerFlags, version: 'Kubernetes v1.36.2' },
  etcd: { flags: etcdFlags, version: 'etcd Version: 3.6.0' },
} as const;

/** Runs as kube-apiserver or etcd until a signal, and returns the exit code. */
export async function launch(name: LauncherName, args: readonly string[], deps: LaunchDeps): Promise<number> {
  const { flags: table, version } = programs[name];
  const flags = parseFlags(
    args.map((arg) => (arg === '-h' ? '--help' : arg)),
    table,
  );
  if (isSet(flags, 'help')) {
    deps.write(
      flagHelp(
        `${name} (podtender): the embedded API server in its place.\n\nUsage:\n  ${name} [flags]`,
        table,
      ),
    );
    return exitCodes.ok;
  }
  if (isSet(flags, 'version')) {
    deps.write(`${version}\n`);
    return exitCodes.ok;
  }
  const stopping = new AbortController();
  const signalled = Promise.withResolvers<undefined>();
  const off = deps.onSignal(() => {
    stopping.abort();
    signalled.resolve(undefined);
  });
  try {
    const started = await start(name, flags, { ...deps, signal: stopping.signal });
    deps.warn(started.ready);
    await signalled.promise;
    await started.stop();
    return exitCodes.ok;
  } catch (reason) {
    if (stopping.signal.aborted) return exitCodes.ok;
    throw reason;
  } finally {
    off();
  }
}

async function start(
  name: LauncherName,
  flags: ReturnType<typeof parseFlags>,
  context: LaunchDeps & { readonly signal: AbortSignal },
): Promise<Started> {
  if (name === 'etcd') {
    const { startEtcd } = await import('../app/etcd.ts');
    const etcd = await startEtcd(flags);
    return { ready: `ready to serve client requests at ${etcd.urls.join(', ')}`, stop: () => etcd.stop() };
  }
  const { startKubeApiServer } = await import('../app/kube-apiserver.ts');
  const server = await startKubeApiServer(flags, context);
  return { ready: `Serving securely on ${server.url}`, stop: () => server.stop() };
}
