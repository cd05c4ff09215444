import { X509Certificate } from 'node:crypto';
import { unifiedDiff } from '../../../kube/validation/spec-diff.ts';
import { type JsonObject, objectAt, objectsAt, sameJson, stringAt } from '../../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const field = 'status.conditions';

export const conditionsOf = (object: JsonObject): readonly JsonObject[] =>
  objectsAt(objectAt(object, 'status'), 'conditions');

const certificateOf = (object: JsonObject): string => stringAt(objectAt(object, 'status'), 'certificate');
const ofType = (object: JsonObject, type: string): readonly JsonObject[] =>
  conditionsOf(object).filter((one) => one['type'] === type);
const isDecision = (type: string): boolean => type === 'Approved' || type === 'Denied';

/** Validates the status of conditions: an approval, denial or failure can only be True. */
function statusFaults(condition: JsonObject, at: string): FieldFault[] {
  const status = stringAt(condition, 'status');
  if (status === '') return [fault.required(`${at}.status`)];
  const isTrue = isDecision(stringAt(condition, 'type')) || condition['type'] === 'Failed';
  const values = isTrue ? ['True'] : ['False', 'True', 'Unknown'];
  return values.includes(status) ? [] : [fault.unsupported(`${at}.status`, status, values)];
}

/**
 * Validates the conditions of a signing request; faults already in the stored one are ignored.
 *
 * Follows Kubernetes `validateConditions` (pkg/apis/certificates/validation, v1.36).
 */
export function conditionFaults(object: JsonObject, old: JsonObject): FieldFault[] {
  const typesBefore = conditionsOf(old).map((one) => stringAt(one, 'type'));
  const mayBeBoth = typesBefore.includes('Approved') && typesBefore.includes('Denied');
  const mayRepeat = new Set(typesBefore).size < typesBefore.length;
  const seen: string[] = [];
  return conditionsOf(object).flatMap((condition, i) => {
    const at = `${field}[${i}]`;
    const type = stringAt(condition, 'type');
    const other = type === 'Approved' ? 'Denied' : 'Approved';
    const both = isDecision(type) && seen.includes(other) && !mayBeBoth;
    const again = seen.includes(type) && !mayRepeat;
    seen.push(type);
    return [
      ...(type === '' && !typesBefore.includes('') ? [fault.required(`${at}.type`)] : []),
      ...statusFaults(condition, at),
      ...(both ? [fault.invalid(field, type, 'Approved and Denied conditions are mutually exclusive')] : []),
      ...(again ? [fault.duplicate(`${at}.type`, type)] : []),
    ];
  });
}

/** What an update through a (sub)resource may change. */
export interface Leave {
  readonly mayDecide?: boolean;
  readonly maySetCertificate?: boolean;
}

/** Validates an update of a request. Follows Kubernetes `validateCertificateSigningRequestUpdate`. */
export function updateFaults(object: JsonObject, old: JsonObject, leave: Leave): readonly FieldFault[] {
  const faults = [...conditionFaults(object, old), ...pemFaults(object, old)];
  for (const type of ['Approved', 'Denied', 'Failed'])
    if (ofType(object, type).length < ofType(old, type).length)
      faults.push(fault.forbidden(field, `updates may not remove a condition of type "${type}"`));
  if (!leave.mayDecide)
    for (const type of ['Approved', 'Denied'])
      faults.push(...undecided(ofType(object, type), ofType(old, type), type));
  return [...faults, ...certificateFaults(object, old, leave)];
}

function undecided(now: readonly JsonObject[], before: readonly JsonObject[], type: string): FieldFault[] {
  if (now.length > before.length)
    return [fault.forbidden(field, `updates may not add a condition of type "${type}"`)];
  if (now.length < before.length || sameJson(now, before)) return [];
  const lines = (all: readonly JsonObject[]): string[] =>
    JSON.stringify(all.map(internal), null, 1).split('\n');
  const diff = unifiedDiff(lines(before), lines(now));
  return [fault.forbidden(field, `updates may not modify a condition of type "${type}"\n${diff}`)];
}

/** Returns a condition as Kubernetes stores it. */
const internal = (condition: JsonObject): JsonObject => ({
  Type: stringAt(condition, 'type'),
  Status: stringAt(condition, 'status'),
  Reason: stringAt(condition, 'reason'),
  Message: stringAt(condition, 'message'),
  LastUpdateTime: condition['lastUpdateTime'] ?? null,
  LastTransitionTime: condition['lastTransitionTime'] ?? null,
});

function certificateFaults(object: JsonObject, old: JsonObject, { maySetCertificate }: Leave): FieldFault[] {
  const [now, before] = [certificateOf(object), certificateOf(old)];
  if (now === before) return [];
  const at = 'status.certificate';
  if (!maySetCertificate) return [fault.forbidden(at, 'updates may not set certificate content')];
  return before === '' ? [] : [fault.forbidden(at, 'updates may not modify existing certificate content')];
}

function pemFaults(object: JsonObject, old: JsonObject): FieldFault[] {
  const [now, before] = [certificateOf(object), certificateOf(old)];
  if (now === before || certificateFault(before) !== undefined) return [];
  const why = certificateFault(now);
  return why === undefined ? [] : [fault.invalid('status.certificate', '<certificate data>', why)];
}

/** Returns why bytes are not PEM certificates. */
function certificateFault(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const text = Buffer.from(base64, 'base64').toString();
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----\r?\n([\s\S]*?)-----END \1-----/g)];
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block';
  for (const [block, label = '', body = ''] of blocks) {
    if (label !== 'CERTIFICATE')
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`;
    if (/^[\w-]+: /m.test(body)) return 'no PEM block headers are permitted';
    try {
      new X509Certificate(block);
    } catch {
      return 'x509: malformed certificate';
    }
  }
  return undefined;
}
