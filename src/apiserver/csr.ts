import { readSigningRequest, type SigningRequest } from '../base/certificates.ts';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt } from './json.ts';
import { builtIn } from './kinds.ts';
import { fault, type FieldFault } from './status-error.ts';
import { commonStrategy, statusRules } from './strategies.ts';
import type { Strategy } from './strategy.ts';
import { seconds } from './times.ts';

const kind = builtIn('certificatesigningrequests', 'certificates.k8s.io');
const common = commonStrategy(kind);
const specOf = (object: JsonObject): JsonObject => objectAt(object, 'spec');

/** The request in a CertificateSigningRequest; `undefined` when it cannot be read. */
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
    found.push(
      fault.invalid('spec.request', stringAt(spec, 'request'), 'PEM block type must be CERTIFICATE REQUEST'),
    );
  const wanted = listAt(spec, 'usages') as readonly string[];
  if (wanted.length === 0) found.push(fault.required('spec.usages'));
  const seen = new Set<string>();
  wanted.forEach((usage, i) => {
    if (!usages.includes(usage)) found.push(fault.unsupported(`spec.usages[${i}]`, usage, usages));
    if (seen.has(usage)) found.push(fault.duplicate(`spec.usages[${i}]`, usage));
    seen.add(usage);
  });
  const signer = stringAt(spec, 'signerName');
  if (signer === 'kubernetes.io/legacy-unknown')
    found.push(
      fault.invalid('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'),
    );
  else if (signer === '') found.push(fault.required('spec.signerName'));
  else if (!signer.includes('/') || !signer.split('/')[0]?.includes('.'))
    found.push(
      fault.invalid(
        'spec.signerName',
        signer,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    );
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

/** Who is approved is not denied. */
function exclusionFaults(conditions: readonly JsonObject[]): FieldFault[] {
  const decided = new Set(
    conditions.map(({ type }) => type).filter((type) => type === 'Approved' || type === 'Denied'),
  );
  const last = [...decided].at(-1);
  return decided.size < 2
    ? []
    : [fault.invalid('status.conditions', last, 'Approved and Denied conditions are mutually exclusive')];
}

/** An approval or a denial is there or it is not: it is never said that it is not so. */
function decisionFaults(condition: JsonObject, at: string): FieldFault[] {
  const status = stringAt(condition, 'status');
  if (status === '') return [fault.required(at)];
  const values =
    condition['type'] === 'Approved' || condition['type'] === 'Denied'
      ? ['True']
      : ['False', 'True', 'Unknown'];
  return values.includes(status) ? [] : [fault.unsupported(at, status, values)];
}

/** Certificate signing requests: who asks is written by the server, only the approval door approves, only the status door issues. */
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
  validateCreate: faults,
  createReset: [['f:spec'], ['f:status']],
  main: {
    reset: [['f:spec'], ['f:status']],
    prepare: (object, old) => ({ ...object, spec: specOf(old), status: old['status'] }),
  },
  subresources: {
    status: {
      ...statusRules(kind),
      prepare(object, old) {
        const given = objectAt(object, 'status');
        const decided = objectsAt(objectAt(old, 'status'), 'conditions').filter(
          (c) => c['type'] !== 'Failed',
        );
        const conditions = [
          ...decided,
          ...objectsAt(given, 'conditions').filter((c) => c['type'] !== 'Approved' && c['type'] !== 'Denied'),
        ];
        return {
          ...old,
          metadata: objectAt(object, 'metadata'),
          status: { ...given, ...(conditions.length > 0 && { conditions }) },
        };
      },
    },
    approval: {
      reset: [['f:spec'], ['f:status', 'f:certificate']],
      validate: (object) => [
        ...exclusionFaults(objectsAt(objectAt(object, 'status'), 'conditions')),
        ...objectsAt(objectAt(object, 'status'), 'conditions').flatMap((condition, i) => [
          ...(stringAt(condition, 'type') === '' ? [fault.required(`status.conditions[${i}].type`)] : []),
          ...decisionFaults(condition, `status.conditions[${i}].status`),
        ]),
      ],
      prepare(object, old, { now }) {
        const before = objectsAt(objectAt(old, 'status'), 'conditions');
        const conditions = objectsAt(objectAt(object, 'status'), 'conditions').map((condition) => ({
          ...condition,
          lastUpdateTime: condition['lastUpdateTime'] ?? seconds(now),
          lastTransitionTime:
            condition['lastTransitionTime'] ??
            before.find((c) => c['type'] === condition['type'])?.['lastTransitionTime'] ??
            seconds(now),
        }));
        const metadata = {
          ...objectAt(old, 'metadata'),
          managedFields: objectAt(object, 'metadata')['managedFields'],
        };
        return {
          ...old,
          metadata,
          status: { ...objectAt(old, 'status'), ...(conditions.length > 0 && { conditions }) },
        };
      },
    },
  },
};
