import { tableOf } from '../base/own.ts';
import { DataDirError } from '../app/data-dir.ts';
import { portAdvice } from '../app/ports.ts';
import { messageOf, type ErrorCode } from '../base/errors.ts';
import { formatFault, OptionsError } from '../options/options-error.ts';

/** Exit codes of the command, for scripts; docs/cli.md describes them. */
export const exitCodes: Readonly<
  Record<
    'ok' | 'failed' | 'invalid' | 'unavailable' | 'dataDir' | 'portInUse' | 'noPermission' | 'forced',
    number
  >
> = {
  /** Ended as requested. */
  ok: 0,
  /** Any failure without a code of its own. */
  failed: 1,
  /** The command line, a setting or a file is invalid. */
  invalid: 2,
  /** A dependency is missing or unreachable: a program, a server, a newer Node.js. */
  unavailable: 69,
  /** The data directory cannot be used: not writable, in use, of another version, or damaged. */
  dataDir: 73,
  /** A port is in use. */
  portInUse: 75,
  /** The system denied permission. */
  noPermission: 77,
  /** A second Ctrl-C killed what was still running (128 + SIGINT). */
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
 * Returns the exit code of a failure: that of the first system error among its causes, otherwise that of its kind. A system error is more
 * specific than the error that wraps it.
 */
export function exitCodeOf(reason: unknown): number {
  if (reason instanceof DataDirError) return exitCodes.dataDir;
  const codes = causesOf(reason).flatMap((cause) => ('code' in cause ? String(cause.code) : []));
  const found =
    codes.map((code) => bySystemCode[code]).find(Boolean) ??
    codes.map((code) => byCode[code as ErrorCode]).find(Boolean);
  return found ?? exitCodes.failed;
}

/** Maximum number of causes that are followed. */
const mostCauses = 8;

function causesOf(reason: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let cause = reason; cause instanceof Error && causes.length < mostCauses; cause = cause.cause)
    causes.push(cause);
  return causes;
}

/**
 * Returns the lines that describe a failure: one, or one for each fault of the settings. A port that cannot be opened comes with advice.
 */
export function failureLines(reason: unknown): readonly string[] {
  if (reason instanceof OptionsError) return reason.faults.map(formatFault);
  const [, code, port = ''] = /\blisten (EADDRINUSE|EACCES)\b.*?:(\d+)$/.exec(messageOf(reason)) ?? [];
  return [code === undefined ? messageOf(reason) : portAdvice(code, port, '--port')];
}
