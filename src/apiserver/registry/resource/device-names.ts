import {
  type Faults,
  invalid,
  invalidEach,
  required,
  tooLong,
} from '../../../kube/validation/field-error.ts';
import { dns1123Label, dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { driverName } from '../../../kube/validation/shared.ts';

const longest = { pool: 253, id: 32 } as const;

/** Validates a DNS label. */
export const labelFaults = (field: string, name: string): Faults =>
  invalidEach(field, name, dns1123Label(name));

/** Validates a DNS subdomain. */
export const subdomainFaults = (field: string, name: string): Faults =>
  invalidEach(field, name, dns1123Subdomain(name));

/** Validates the name of a pool: DNS subdomains separated by slashes. */
export function* poolName(field: string, name: string): Faults {
  if (name === '') {
    yield required(field);
    return;
  }
  if (Buffer.byteLength(name) > longest.pool) yield tooLong(field, longest.pool);
  for (const part of name.split('/')) yield* subdomainFaults(field, part);
}

const hex = '[0-9a-fA-F]';
const hyphenated = new RegExp(`^${hex}{8}-${hex}{4}-${hex}{4}-${hex}{4}-${hex}{12}$`);

/** Returns what a UUID parser says about a text; undefined when it accepts it. */
function uuidFault(text: string): string | undefined {
  const size = Buffer.byteLength(text);
  const bad = 'invalid UUID format';
  switch (size) {
    case 36:
      return hyphenated.test(text) ? undefined : bad;
    case 45:
      if (text.slice(0, 9).toLowerCase() !== 'urn:uuid:')
        return `invalid urn prefix: ${goQuote(text.slice(0, 9))}`;
      return hyphenated.test(text.slice(9)) ? undefined : bad;
    case 38:
      return text.startsWith('{') && text.endsWith('}') ? undefined : 'invalid bracketed UUID format';
    case 32:
      return new RegExp(`^${hex}{32}$`).test(text) ? undefined : bad;
    default:
      return `invalid UUID length: ${size}`;
  }
}

/** Validates a UUID in its common form: lower case with hyphens. */
export function* uuidFaults(field: string, uid: string): Faults {
  const why = uuidFault(uid);
  if (why !== undefined) yield invalid(field, uid, `error validating uid: ${why}`);
  else if (uid.length !== 36 || uid !== uid.toLowerCase())
    yield invalid(
      field,
      uid,
      'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
    );
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const identifierText =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

function* identifierFaults(field: string, id: string): Faults {
  if (Buffer.byteLength(id) > longest.id) yield tooLong(field, longest.id);
  if (!identifier.test(id)) yield invalid(field, id, identifierText);
}

/** Validates the name of an attribute or capacity: an identifier, with or without a domain before it. */
export function* qualifiedFaults(field: string, name: string): Faults {
  const [first = '', second, ...more] = name.split('/');
  if (more.length > 0) return;
  if (second === undefined) yield* identifierFaults(field, first);
  else {
    if (first === '') yield invalid(field, '', 'the domain must not be empty');
    else yield* driverName(field, first);
    if (second === '') yield invalid(field, '', 'the name must not be empty');
    else yield* identifierFaults(field, second);
  }
}

/** Validates the name of an attribute with its domain. */
export function* fullyQualifiedFaults(field: string, name: string): Faults {
  yield* qualifiedFaults(field, name);
  if (!name.includes('/'))
    yield invalid(field, name, 'a fully qualified name must be a domain and a name separated by a slash');
}
