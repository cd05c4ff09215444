import { AgentError } from '../base/errors.ts';
import type { EffectiveOptions } from '../options/load.ts';

/** Returns what to do about a port that cannot be opened, by the system's error code. */
export const portAdvice = (code: string, port: number | string, setting: string): string =>
  code === 'EADDRINUSE'
    ? `port ${port} is in use; choose another with ${setting}`
    : `port ${port} may not be taken by this user; choose one from 1024 on with ${setting}, or run as root`;

/** Returns the system's error behind a failure to listen. */
function refusalOf(reason: unknown): Error | undefined {
  for (let cause = reason; cause instanceof Error; cause = cause.cause)
    if ('syscall' in cause && cause.syscall === 'listen') return cause;
  return undefined;
}

/** Converts a failure to open a port to an error that names the port's setting; returns other failures unchanged. */
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
 * Returns the setting of one of the agent's ports, as the user writes it.
 *
 * @param ofApi the setting of the kubelet API's port: `--port` is another port of `podtender up`
 */
export const portSetting =
  ({ kubelet }: Pick<EffectiveOptions, 'kubelet'>, ofApi: string) =>
  (port: number): string => {
    if (port === kubelet.readOnlyPort) return '--read-only-port';
    return port === kubelet.healthzPort ? '--healthz-port' : ofApi;
  };
