import { tableOf } from '../../base/own.ts';
import {
  type NameCheck,
  namesBy,
  validateMetadata as metadataFaults,
} from '../../kube/validation/metadata.ts';
import { validateMetadataUpdate as updateFaults } from '../../kube/validation/metadata-update.ts';
import { canonicalAddress } from './validation/address-rules.ts';
import { dns1123Label, dns1123Subdomain } from '../../kube/validation/name-rules.ts';
import {
  canonicalJson,
  type JsonObject,
  namespaceOf,
  objectAt,
  objectsAt,
  stringAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { pathSegment } from '../../apimachinery/path-segment.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { badRequest, causeOf, type FieldFault } from '../../apimachinery/status-error.ts';

export const subdomainName: NameCheck = namesBy(dns1123Subdomain);
const label: NameCheck = namesBy(dns1123Label);
const checks: Readonly<Record<string, NameCheck>> = tableOf({
  Namespace: (name, prefix) =>
    name.includes('.') && !name.includes('/') ? ['must not contain dots'] : label(name, prefix),
  Service: label,
  StatefulSet: label,
  Event: pathSegment,
  Role: pathSegment,
  RoleBinding: pathSegment,
  ClusterRole: pathSegment,
  ClusterRoleBinding: pathSegment,
  CertificateSigningRequest: () => [],
  PodDisruptionBudget: pathSegment,
  APIService: pathSegment,
  IPAddress: (name) => [...canonicalAddress('', name)].map(({ detail }) => detail),
});

/** Returns the name check of a kind. */
export const nameCheckOf = (kind: Kind): NameCheck => checks[kind.kind] ?? subdomainName;

/** Checks that an object's namespace is empty or that of the request. @throws {StatusError} 400 */
export function checkNamespaceOf(object: JsonObject, namespace: string): void {
  const own = namespaceOf(object);
  if (![own, namespace].includes('') && own !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** Built-in API groups whose own validation of finalizers is only the common one; that of custom resources is so too. */
const freeFinalizers = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
]);
const knowsFinalizers = ({ group, custom }: Kind): boolean => !custom && !freeFinalizers.has(group);

/** Returns the faults of the kind's own metadata validation (Kubernetes `ValidateObjectMeta`). */
export const validateMetadata = (
  object: JsonObject,
  kind: Kind,
  names: NameCheck = nameCheckOf(kind),
): FieldFault[] => {
  const rules = { names, namespaced: kind.namespaced, knownFinalizers: knowsFinalizers(kind) };
  return [...metadataFaults('metadata', objectAt(object, 'metadata'), rules)].map(causeOf);
};

/** Returns the faults of the common metadata validation (apimachinery `ValidateObjectMetaAccessor`). */
export const commonMetadata = (object: JsonObject, { namespaced }: Kind): FieldFault[] => {
  const rules = { names: pathSegment, namespaced, knownFinalizers: false };
  return [...metadataFaults('metadata', objectAt(object, 'metadata'), rules)].map(causeOf);
};

/** Returns the faults of the kind's own validation of changed metadata (Kubernetes `ValidateObjectMetaUpdate`). */
export const validateMetadataUpdate = (object: JsonObject, old: JsonObject, kind: Kind): FieldFault[] =>
  changes(object, old, knowsFinalizers(kind));

/** Returns the faults of the common validation of changed metadata (apimachinery `ValidateObjectMetaAccessorUpdate`). */
export const commonMetadataUpdate = (object: JsonObject, old: JsonObject): FieldFault[] =>
  changes(object, old, false);

const changes = (object: JsonObject, old: JsonObject, knownFinalizers: boolean): FieldFault[] =>
  [...updateFaults('metadata', objectAt(object, 'metadata'), objectAt(old, 'metadata'), knownFinalizers)].map(
    causeOf,
  );

const duplicateWarning = (when: string, uids: readonly string[]): string =>
  `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`;

/**
 * Returns the object without duplicate owners, with a warning if there were any. Follows apiserver `dedupOwnerReferences`.
 *
 * @param patched whether a patch made it: it is then checked after admission, and the warning says so
 */
export function withoutRepeatedOwners(object: JsonObject, warnings: string[], patched = false): JsonObject {
  const owners = objectsAt(objectAt(object, 'metadata'), 'ownerReferences');
  if (owners.length < 2) return object;
  const seen = new Set<string>();
  const once: JsonObject[] = [];
  const again: JsonObject[] = [];
  for (const owner of owners) {
    const text = canonicalJson(owner);
    (seen.has(text) ? again : once).push(owner);
    seen.add(text);
  }
  if (again.length === 0) return object;
  const uids = again.map((owner) => stringAt(owner, 'uid'));
  warnings.push(duplicateWarning(patched ? ' after mutating admission happens' : '', uids));
  return withMetadata(object, { ownerReferences: once });
}
