import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { EmbeddedApiServerOptions } from '../apiserver/index.ts';
import { AgentError, messageOf } from '../base/errors.ts';

/** A log of audit events. */
export interface AuditFile {
  readonly record: NonNullable<EmbeddedApiServerOptions['audit']>;
  readonly close: () => void;
}

/**
 * Opens an audit log, to which one event a line is appended; `-` is standard output.
 *
 * @param flag the flag that names it, for errors
 * @throws {AgentError} `invalid_argument` for a file that cannot be opened
 */
export function auditFile(
  name: string,
  { write }: { readonly write: (text: string) => unknown },
  flag: string,
): AuditFile {
  if (name === '-') return { record: (event) => write(`${JSON.stringify(event)}\n`), close: () => undefined };
  let handle: number;
  try {
    mkdirSync(dirname(resolve(name)), { recursive: true });
    handle = openSync(name, 'a', 0o600);
  } catch (reason) {
    throw new AgentError('invalid_argument', `${flag} ${name}: ${messageOf(reason)}`, { cause: reason });
  }
  let isOpen = true;
  return {
    // requests that end with the server are recorded after it was closed
    record: (event) => {
      if (isOpen) writeSync(handle, `${JSON.stringify(event)}\n`);
    },
    close: () => {
      isOpen = false;
      closeSync(handle);
    },
  };
}
