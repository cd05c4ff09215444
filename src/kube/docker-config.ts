import { ownMember } from '../base/own.ts';
import { AgentError } from '../base/errors.ts';
import { jsonTypeOf } from '../go/go-types.ts';
import { findJsonFault, parseJson } from '../go/json-fault.ts';

/** Credential of one registry. */
export interface DockerConfigEntry {
  readonly username: string;
  readonly password: string;
  readonly email: string;
}

/** Credentials by registry: a host with optional scheme, port and path; hosts may contain globs. */
export type DockerConfig = Readonly<Record<string, DockerConfigEntry>>;

/**
 * Parses a legacy `.dockercfg`.
 *
 * @throws {AgentError} `invalid_argument` in the words of Go's decoder and without any of the content
 */
export const readDockerConfig = (text: string): DockerConfig => entriesOf(parsed(text));

/**
 * Parses a `config.json`: the same content as `.dockercfg`, below `auths`.
 *
 * @throws {AgentError} as {@link readDockerConfig}
 */
export function readDockerConfigJson(text: string): DockerConfig {
  return entriesOf(objectOf(parsed(text), 'credentialprovider.DockerConfigJSON')['auths']);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw fault(findJsonFault(text).message);
  }
}

function entriesOf(value: unknown): DockerConfig {
  const entries = Object.entries(objectOf(value, 'credentialprovider.DockerConfig'));
  return Object.fromEntries(entries.map(([registry, entry]) => [registry, entryOf(entry)]));
}

function entryOf(value: unknown): DockerConfigEntry {
  const entry = objectOf(value, 'credentialprovider.dockerConfigEntryWithAuth');
  const text = (name: string): string => {
    const member = ownMember(entry, name) ?? '';
    if (typeof member === 'string') return member;
    throw fault(
      `json: cannot unmarshal ${jsonTypeOf(member)} into Go struct field dockerConfigEntryWithAuth.${name} of type string`,
    );
  };
  const [username, password, email, auth] = [text('username'), text('password'), text('email'), text('auth')];
  return auth === '' ? { username, password, email } : { ...decodeAuth(auth), email };
}

/** Decodes `base64(username:password)`, padded or not. */
function decodeAuth(auth: string): { readonly username: string; readonly password: string } {
  const bare = auth.replace(/[\r\n]/g, '');
  const padded = auth.trim().endsWith('=');
  const odd = oddBase64(bare, padded);
  if (odd !== undefined) throw fault(`illegal base64 data at input byte ${odd}`);
  const text = Buffer.from(bare, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 0) throw fault('unable to parse auth field, must be formatted as base64(username:password)');
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Returns the offset of the first character that is not valid base64; `undefined` when the text is valid. */
function oddBase64(text: string, padded: boolean): number | undefined {
  const digits = padded ? text.replace(/={1,2}$/, '') : text;
  const odd = digits.search(/[^A-Za-z0-9+/]/);
  if (odd >= 0) return odd;
  const complete = padded ? text.length % 4 === 0 : digits.length % 4 !== 1;
  return complete ? undefined : text.length;
}

function objectOf(value: unknown, type: string): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw fault(`json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${type}`);
}

const fault = (message: string): AgentError => new AgentError('invalid_argument', message);
