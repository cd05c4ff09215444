import { readSigningRequest, type SigningRequest } from '../../../pki/certificates.ts';
import { conditionFaults, conditionsOf, updateFaults } from './csr-conditions.ts';
import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { signerName } from '../../../kube/validation/signer-name.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';

import { causeOf, fault, type FieldFault } from '../../../apimachinery/status-error.ts';
import { validateMetadata } from '../metadata-rules.ts';
import { commonStrategy, statusRules } from '../strategies.ts';
import type { Strategy } from '../strategy.ts';
import { seconds } from '../../../apimachinery/times.ts';

const kind = builtIn('certificatesigningrequests', 'certificates.k8s.io');
const common = commonStrategy(kind);

/** Returns the request in a CertificateSigningRequest; `undefined` when it cannot be parsed. */
export function requestOf(object: JsonObject): SigningRequest | undefined {
  try {
    return readSigningRequest(Buffer.from(stringAt(specOf(object), 'request'), 'base64').toString());
  } catch {
    return undefined;
  }
}

const usages = [
  'any', 'cert sign', 'client auth', 'code signing', 'content commitment', 'crl sign', 'data encipherment', 'decipher only',
  'digital signature', 'email protection', 'encipher only', 'ipsec end system', 'ipsec tunnel', 'ipsec user', 'key agreement',
  'key encipherment', 'microsoft sgc', 'netscape sgc', 'ocsp signing', 's/mime', 'server auth', 'signing', 'timestamping',
]; // prettier-ignore

function faults(object: JsonObject): FieldFault[] {
  const spec = specOf(object);
  const found: FieldFault[] = [];
  if (!requestOf(object))
    found.push(fault.invalid('spec.request', spec['request'], 'PEM block type must be CERTIFICATE REQUEST'));
  const requested = listAt(spec, 'usages') as readonly string[];
  if (requested.length === 0) found.push(fault.required('spec.usages'));
  const seen = new Set<string>();
  requested.forEach((usage, i) => {
    if (!usages.includes(usage)) found.push(fault.unsupported(`spec.usages[${i}]`, usage, usages));
    if (seen.has(usage)) found.push(fault.duplicate(`spec.usages[${i}]`, usage));
    seen.add(usage);
  });
  const signer = stringAt(spec, 'signerName');
  if (signer === 'kubernetes.io/legacy-unknown')
    found.push(
      fault.invalid('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'),
    );
  else found.push(...signerFaults(signer));
  const lifetime = spec['expirationSeconds'];
  if (typeof lifetime === 'number' && lifetime < 600)
    found.push(
      fault.invalid(
        'spec.expirationSeconds',
        lifetime,
        'may not specify a duration less than 600 seconds (10 minutes)',
      ),
    );
  return found;
}

/** Validates the signer name of an object. */
export const signerFaults = (name: string): FieldFault[] =>
  [...signerName('spec.signerName', name)].map(causeOf);

/** Strategy of certificate signing requests: the server sets the requesting user, only `approval` approves, only `status` issues. */
export const csrStrategy: Strategy = {
  ...common,
  prepareCreate(object, { user }) {
    const { username: _n, uid: _u, groups: _g, extra: _e, ...spec } = specOf(object);
    return {
      ...object,
      spec: {
        ...spec,
        username: user.name,
        ...(user.uid && { uid: user.uid }),
        ...(user.groups.length > 0 && { groups: user.groups }),
        ...(user.extra && Object.keys(user.extra).length > 0 && { extra: user.extra }),
      },
      status: {},
    };
  },
  validateCreate: (object) => [...faults(object), ...conditionFaults(object, {})],
  createReset: [['f:spec'], ['f:status']],
  main: {
    reset: [['f:spec'], ['f:status']],
    prepare: (object, old) => ({ ...object, spec: specOf(old), status: old['status'] }),
    validate: (object, old) => updateFaults(object, old, {}),
  },
  subresources: {
    status: {
      ...statusRules(kind),
      prepare(object, old, { now }) {
        const status = objectAt(object, 'status');
        const conditions = timed(decided(objectsAt(status, 'conditions'), conditionsOf(old)), old, now);
        return {
          ...old,
          metadata: objectAt(object, 'metadata'),
          status: { ...status, ...(conditions.length > 0 && { conditions }) },
        };
      },
      validate: (object, old) => [
        ...validateMetadata(object, kind),
        ...updateFaults(object, old, { maySetCertificate: true }),
      ],
    },
    approval: {
      reset: [['f:spec'], ['f:status', 'f:certificate']],
      prepare(object, old, { now }) {
        const { conditions: _c, ...rest } = objectAt(old, 'status');
        const conditions = timed(conditionsOf(object), old, now);
        return {
          ...old,
          metadata: objectAt(object, 'metadata'),
          status: { ...rest, ...(conditions.length > 0 && { conditions }) },
        };
      },
      validate: (object, old) => [
        ...validateMetadata(object, kind),
        ...updateFaults(object, old, { mayDecide: true }),
      ],
    },
  },
};

/** Returns conditions with the stored decisions, as long as there are as many of each. */
function decided(conditions: readonly JsonObject[], standing: readonly JsonObject[]): readonly JsonObject[] {
  let out = conditions;
  for (const type of ['Approved', 'Denied']) {
    const [now, before] = [out, standing].map((all) => all.filter((one) => one['type'] === type));
    if (now?.length !== before?.length) continue;
    const stored = [...(before ?? [])];
    out = out.map((one) => (one['type'] === type ? (stored.shift() ?? one) : one));
  }
  return out;
}

/** Returns conditions with missing times filled in. */
function timed(conditions: readonly JsonObject[], old: JsonObject, now: number): readonly JsonObject[] {
  const time = seconds(now);
  return conditions.map((condition) => {
    const same = conditionsOf(old).find(
      (one) =>
        one['type'] === condition['type'] &&
        one['status'] === condition['status'] &&
        one['lastTransitionTime'],
    );
    return {
      ...condition,
      lastUpdateTime: condition['lastUpdateTime'] ?? time,
      lastTransitionTime: condition['lastTransitionTime'] ?? same?.['lastTransitionTime'] ?? time,
    };
  });
}
