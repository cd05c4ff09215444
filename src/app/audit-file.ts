import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { EmbeddedApiServerOptions } from '../apiserver/index.ts';
import { AuditPolicy } from '../apiserver/filters/audit-policy.ts';
import { isObject, type JsonObject } from '../apimachinery/json.ts';
import { parseYaml } from '../go/yaml/document.ts';
import { yamlText } from '../go/yaml/reader.ts';
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

/**
 * Reads an audit policy.
 *
 * @param flag the flag that names it, for errors
 * @param warn receives what is in the file but has no effect
 * @throws {AgentError} `invalid_argument` for a file that cannot be read, or is no valid Policy of `audit.k8s.io/v1`
 */
export function auditPolicyIn(file: string, flag: string, warn: (line: string) => void): JsonObject {
  try {
    const parsed = parseYaml(yamlText(readFileSync(file)));
    if (!parsed.ok) throw new Error(`failed decoding: ${parsed.fault.message}`);
    const { value } = parsed.document;
    for (const text of AuditPolicy.of(value).warnings) warn(`${flag} ${file}: ${text}`);
    return isObject(value) ? value : {};
  } catch (reason) {
    throw new AgentError('invalid_argument', `${flag} ${file}: ${messageOf(reason)}`, { cause: reason });
  }
}
