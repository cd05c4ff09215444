import { X509Certificate } from 'node:crypto';
import { type JsonObject, objectAt, stringAt } from '../../../apimachinery/json.ts';
import { trustBundleKinds } from '../../../apimachinery/kinds.ts';
import type { NameCheck } from '../../../kube/validation/metadata.ts';
import { nameCheckOf, validateMetadata } from '../metadata-rules.ts';
import { signerFaults } from './csr.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';
import { commonStrategy } from '../strategies.ts';
import type { Strategy } from '../strategy.ts';

const [kind] = trustBundleKinds;
if (!kind) throw new Error('no kind of trust bundles');
const common = commonStrategy(kind);

/** Maximum size of a bundle, bytes. */
const mostBytes = 1024 * 1024;

const signerOf = (object: JsonObject): string => stringAt(objectAt(object, 'spec'), 'signerName');
const anchorsOf = (object: JsonObject): string => stringAt(objectAt(object, 'spec'), 'trustBundle');

/** Validates that a signer's bundle is named after it. Follows `ValidateClusterTrustBundleName`. */
const nameOfSigners =
  (signer: string): NameCheck =>
  (name, isPrefix) => {
    const rest = nameCheckOf(kind);
    if (signer === '')
      return name.includes(':')
        ? ['ClusterTrustBundle without signer name must not have ":" in its name']
        : rest(name, isPrefix);
    const prefix = `${signer.replaceAll('/', ':')}:`;
    return name.startsWith(prefix)
      ? rest(name.slice(prefix.length), isPrefix)
      : [`ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`];
  };

/** Returns the fault of one block of a bundle. */
function blockFault(label: string, body: string, bytes: Buffer): string | undefined {
  if (label !== 'CERTIFICATE') return `has bad block type: ${label}`;
  if (body.includes(':')) return 'has PEM block headers';
  try {
    return new X509Certificate(bytes).ca ? undefined : 'does not have the CA bit set';
  } catch {
    return 'does not parse as X.509';
  }
}

/** Follows `validateTrustBundle`. */
function anchorFaults(text: string): FieldFault[] {
  const field = 'spec.trustBundle';
  const invalid = (why: string): FieldFault => fault.invalid(field, '<value omitted>', why);
  if (Buffer.byteLength(text) > mostBytes) return [fault.tooLong(field, mostBytes)];
  const places = new Map<string, number[]>();
  const faults: FieldFault[] = [];
  let index = 0;
  for (const [, label = '', body = ''] of text.matchAll(/-----BEGIN ([^-]+)-----([^]*?)-----END \1-----/g)) {
    const bytes = Buffer.from(body, 'base64');
    const wrong = blockFault(label, body, bytes);
    if (wrong !== undefined) faults.push(invalid(`entry ${index} ${wrong}`));
    const key = bytes.toString('base64');
    places.set(key, [...(places.get(key) ?? []), index++]);
  }
  if (faults.length > 0) return faults;
  if (places.size === 0) return [invalid('at least one trust anchor must be provided')];
  return [...places.values()]
    .filter((indices) => indices.length > 1)
    .map((indices) => invalid(`duplicate trust anchor (indices [${indices.join(' ')}])`));
}

const faultsOf = (object: JsonObject): FieldFault[] => {
  const signer = signerOf(object);
  return [
    ...validateMetadata(object, kind, nameOfSigners(signer)),
    ...(signer === '' ? [] : signerFaults(signer)),
  ];
};

/** Strategy of cluster trust bundles: CA certificates, of one signer or without one. */
export const trustBundleStrategy: Strategy = {
  ...common,
  validatesMetadata: true,
  validateCreate: (object) => [...faultsOf(object), ...anchorFaults(anchorsOf(object))],
  main: {
    ...common.main,
    validate: (object, old) => [
      ...faultsOf(object),
      ...(anchorsOf(object) === anchorsOf(old) ? [] : anchorFaults(anchorsOf(object))),
      ...(signerOf(object) === signerOf(old)
        ? []
        : [fault.invalid('spec.signerName', signerOf(object), 'field is immutable')]),
    ],
  },
};
