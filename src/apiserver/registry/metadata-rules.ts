import {
  type NameCheck,
  namesBy,
  validateMetadata as metadataFaults,
} from '../../kube/validation/metadata.ts';
import { validateMetadataUpdate as updateFaults } from '../../kube/validation/metadata-update.ts';
import { dns1123Label, dns1123Subdomain } from '../../kube/validation/name-rules.ts';
import { type JsonObject, namespaceOf, objectAt } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { badRequest, causeOf, type FieldFault } from '../../apimachinery/status-error.ts';

export const subdomainName: NameCheck = namesBy(dns1123Subdomain);
const label: NameCheck = namesBy(dns1123Label);
/** Any text that can stand as one segment of a path. */
export const pathSegment: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
};

const checks: Readonly<Record<string, NameCheck>> = {
  Namespace: (name, prefix) =>
    name.includes('.') && !name.includes('/') ? ['must not contain dots'] : label(name, prefix),
  Service: label,
  Event: pathSegment,
  Role: pathSegment,
  RoleBinding: pathSegment,
  ClusterRole: pathSegment,
  ClusterRoleBinding: pathSegment,
  CertificateSigningRequest: () => [],
  PodDisruptionBudget: pathSegment,
};

/** How names of the kind are checked. */
export const nameCheckOf = (kind: Kind): NameCheck => checks[kind.kind] ?? subdomainName;

/** What is sent to a namespace says so or says nothing. @throws {StatusError} 400 */
export function checkNamespaceOf(object: JsonObject, namespace: string): void {
  const given = namespaceOf(object);
  if (![given, namespace].includes('') && given !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** Kinds whose own validation asks no more of finalizers than that of every kind. */
const freeFinalizers = new Set(['coordination.k8s.io']);
const knowsFinalizers = ({ group }: Kind): boolean => !freeFinalizers.has(group);

/** What the kind's own validation finds in the metadata (Kubernetes `ValidateObjectMeta`). */
export const validateMetadata = (
  object: JsonObject,
  kind: Kind,
  names: NameCheck = nameCheckOf(kind),
): FieldFault[] => {
  const rules = { names, namespaced: kind.namespaced, knownFinalizers: knowsFinalizers(kind) };
  return [...metadataFaults('metadata', objectAt(object, 'metadata'), rules)].map(causeOf);
};

/** What is asked of the metadata of every kind (apimachinery `ValidateObjectMetaAccessor`). */
export const commonMetadata = (object: JsonObject, { namespaced }: Kind): FieldFault[] => {
  const rules = { names: pathSegment, namespaced, knownFinalizers: false };
  return [...metadataFaults('metadata', objectAt(object, 'metadata'), rules)].map(causeOf);
};

/** What the kind's own validation finds in changed metadata (Kubernetes `ValidateObjectMetaUpdate`). */
export const validateMetadataUpdate = (object: JsonObject, old: JsonObject, kind: Kind): FieldFault[] =>
  changes(object, old, knowsFinalizers(kind));

/** What is asked of changed metadata of every kind (apimachinery `ValidateObjectMetaAccessorUpdate`). */
export const commonMetadataUpdate = (object: JsonObject, old: JsonObject): FieldFault[] =>
  changes(object, old, false);

const changes = (object: JsonObject, old: JsonObject, knownFinalizers: boolean): FieldFault[] =>
  [...updateFaults('metadata', objectAt(object, 'metadata'), objectAt(old, 'metadata'), knownFinalizers)].map(
    causeOf,
  );
