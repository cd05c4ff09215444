import { tableOf } from '../base/own.ts';
import { DataDirError } from '../app/data-dir.ts';
import { portAdvice } from '../app/ports.ts';
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
  /** The data directory cannot be used: not writable, in use, of another version, or damaged. */
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

const bySystemCode: Readonly<Partial<Record<string, number>>> = tableOf({
  EADDRINUSE: exitCodes.portInUse,
  EACCES: exitCodes.noPermission,
  EPERM: exitCodes.noPermission,
});

/**
 * The exit code of any failure: that of a system error somewhere behind it, or that of its kind. What the system refused says more
 * than what the program made of it.
 */
export function exitCodeOf(reason: unknown): number {
  if (reason instanceof DataDirError) return exitCodes.dataDir;
  const codes = causesOf(reason).flatMap((cause) => ('code' in cause ? String(cause.code) : []));
  const found =
    codes.map((code) => bySystemCode[code]).find(Boolean) ??
    codes.map((code) => byCode[code as ErrorCode]).find(Boolean);
  return found ?? exitCodes.failed;
}

/** How many causes behind each other are looked at. */
const mostCauses = 8;

function causesOf(reason: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let cause = reason; cause instanceof Error && causes.length < mostCauses; cause = cause.cause)
    causes.push(cause);
  return causes;
}

/** The lines that tell a failure: one, or one for each fault of the settings. A port that cannot be taken says what to do about it. */
export function failureLines(reason: unknown): readonly string[] {
  if (reason instanceof OptionsError) return reason.faults.map(formatFault);
  const [, code, port = ''] = /\blisten (EADDRINUSE|EACCES)\b.*?:(\d+)$/.exec(messageOf(reason)) ?? [];
  return [code === undefined ? messageOf(reason) : portAdvice(code, port, '--port')];
}
