import { DataDirError } from '../app/data-dir.ts';
import { messageOf, type ErrorCode } from '../base/errors.ts';
import { formatFault, OptionsError } from '../options/options-error.ts';

/** How the command ends. The numbers are for scripts; docs/cli.md says what each asks of the caller. */
export const exitCodes: Readonly<
  Record<
    'ok' | 'failed' | 'invalid' | 'unavailable' | 'dataDir' | 'portInUse' | 'noPermission' | 'forced',
    number
  >
> = {
  /** Ended as asked. */
  ok: 0,
  /** Something that no other code names. */
  failed: 1,
  /** The command line, a setting or a file is wrong. */
  invalid: 2,
  /** Something that it needs is not there: a program, a server, a newer Node.js. */
  unavailable: 69,
  /** The data directory cannot be used: not writable, in use, or of another version. */
  dataDir: 73,
  /** A port is in use. */
  portInUse: 75,
  /** The system does not allow it. */
  noPermission: 77,
  /** A second Ctrl-C: what still ran was killed (128 + SIGINT). */
  forced: 130,
};

const byCode: Readonly<Partial<Record<ErrorCode, number>>> = {
  invalid_argument: exitCodes.invalid,
  unavailable: exitCodes.unavailable,
  failed_precondition: exitCodes.unavailable,
  permission_denied: exitCodes.noPermission,
};

const bySystemCode: Readonly<Partial<Record<string, number>>> = {
  EADDRINUSE: exitCodes.portInUse,
  EACCES: exitCodes.noPermission,
  EPERM: exitCodes.noPermission,
};

/** The exit code of any failure, by the code of the error or of a system error among its causes. */
export function exitCodeOf(reason: unknown): number {
  if (reason instanceof DataDirError) return exitCodes.dataDir;
  for (let cause = reason, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++) {
    const code: unknown = 'code' in cause ? cause.code : undefined;
    const known = typeof code === 'string' ? (bySystemCode[code] ?? byCode[code as ErrorCode]) : undefined;
    if (known !== undefined) return known;
  }
  return exitCodes.failed;
}

/** The lines that tell a failure: one, or one for each fault of the settings. A port in use says what to do about it. */
export function failureLines(reason: unknown): readonly string[] {
  if (reason instanceof OptionsError) return reason.faults.map(formatFault);
  const message = messageOf(reason);
  const port = /EADDRINUSE.*?:(\d+)\b/.exec(message);
  return [port ? `port ${port[1] ?? ''} is in use; choose another with --port` : message];
}
