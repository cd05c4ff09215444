import type { RunningApiServer } from '../app/apiserver.ts';
import type { ApiServerArguments } from './apiserver-command.ts';
import { exitCodes } from './exit-codes.ts';

/** What the command is run with. */
export interface ApiServerDeps {
  readonly start: (
    options: ApiServerArguments,
    context: { readonly write: (text: string) => unknown },
  ) => Promise<RunningApiServer>;
  readonly write: (text: string) => unknown;
  /** Calls back at each SIGINT, SIGTERM and SIGHUP; the returned function ends that. */
  readonly onSignal: (listener: () => void) => () => void;
}

/** Runs `podtender apiserver` until a signal and returns the exit code. */
export async function apiserver(
  options: ApiServerArguments,
  { start, write, onSignal }: ApiServerDeps,
): Promise<number> {
  const signalled = Promise.withResolvers<undefined>();
  const off = onSignal(() => {
    signalled.resolve(undefined);
  });
  try {
    const running = await start(options, { write });
    write(readyText(running, options));
    await signalled.promise;
    await running.stop();
    if (options.output === 'json') write('{"type":"stopped"}\n');
    return exitCodes.ok;
  } finally {
    off();
  }
}

function readyText({ url, kubeconfig }: RunningApiServer, { output }: ApiServerArguments): string {
  if (output === 'json') return `${JSON.stringify({ type: 'ready', server: url, kubeconfig })}\n`;
  return `API server ready at ${url}\nexport KUBECONFIG=${quoted(kubeconfig)}\n`;
}

/** Quotes a word for a shell. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
