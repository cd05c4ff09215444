import { AgentError } from '../base/errors.ts';
import type { EffectiveOptions } from '../options/load.ts';

/** What to do about a port that cannot be taken, by the system's code for it. */
export const portAdvice = (code: string, port: number | string, setting: string): string =>
  code === 'EADDRINUSE'
    ? `port ${port} is in use; choose another with ${setting}`
    : `port ${port} may not be taken by this user; choose one from 1024 on with ${setting}, or run as root`;

/** The refusal of the system behind a failure to listen. */
function refusalOf(reason: unknown): Error | undefined {
  for (let cause = reason; cause instanceof Error; cause = cause.cause)
    if ('syscall' in cause && cause.syscall === 'listen') return cause;
  return undefined;
}

/** A failure to take a port as an error that names the setting of that port; any other failure as it is. */
export function portError(reason: unknown, settingOf: (port: number) => string): unknown {
  const refusal = refusalOf(reason);
  const { code = '', port } = (refusal ?? {}) as NodeJS.ErrnoException & { readonly port?: number };
  if (port === undefined || !['EADDRINUSE', 'EACCES', 'EPERM'].includes(code)) return reason;
  return new AgentError(
    code === 'EADDRINUSE' ? 'unavailable' : 'permission_denied',
    portAdvice(code, port, settingOf(port)),
    { cause: reason },
  );
}

/**
 * The setting that a port of the agent comes from, as the user changes it.
 *
 * @param ofApi the words for the kubelet API's own: `--port` is another port for `podtender up`
 */
export const portSetting =
  ({ kubelet }: Pick<EffectiveOptions, 'kubelet'>, ofApi: string) =>
  (port: number): string => {
    if (port === kubelet.readOnlyPort) return '--read-only-port';
    return port === kubelet.healthzPort ? '--healthz-port' : ofApi;
  };
