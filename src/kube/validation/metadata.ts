import { goQuote, isPrintable } from '../../go/go-quote.ts';
import type { ObjectMeta, OwnerReference, Pod } from '../types.ts';
import { type Faults, invalid, invalidEach, required, tooLong } from './field-error.ts';
import { dns1123Label, dns1123Subdomain, type NameRule, qualifiedNameRule } from './name-rules.ts';
import { descendingPath, labels, sorted } from './shared.ts';

const annotationBytes = 256 * 1024;

/** Validates a name, or a prefix from which a name is generated. */
export type NameCheck = (name: string, prefix: boolean) => readonly string[];

/** Validation rules for the metadata of a kind. */
export interface MetadataRules {
  readonly names: NameCheck;
  readonly namespaced: boolean;
  /** Finalizers must have a domain or be Kubernetes' own, as most kinds require beyond the common rules. */
  readonly knownFinalizers: boolean;
}

/** Returns a check by a name rule. A prefix may end with a dash, as a generated suffix follows. */
export const namesBy =
  (rule: NameRule): NameCheck =>
  (name, prefix) =>
    rule(prefix && name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name);

const podMetadata: MetadataRules = {
  names: namesBy(dns1123Subdomain),
  namespaced: true,
  knownFinalizers: true,
};

/**
 * Validates the metadata of an object; without `rules`, of a pod.
 *
 * Follows Kubernetes `ValidateObjectMeta`.
 */
export function* validateMetadata(
  field: string,
  meta: ObjectMeta,
  rules: MetadataRules = podMetadata,
): Faults {
  yield* names(field, meta, rules.names);
  if (rules.namespaced) yield* namespaceName(`${field}.namespace`, meta.namespace ?? '');
  if ((meta.generation ?? 0) < 0)
    yield invalid(`${field}.generation`, meta.generation, 'must be greater than or equal to 0');
  yield* maps(field, meta);
  const { finalizers = [] } = meta;
  yield* finalizerNames(`${field}.finalizers`, finalizers);
  yield* managedFields(`${field}.managedFields`, meta.managedFields ?? []);
  if (rules.knownFinalizers) yield* kubeFinalizers(`${field}.finalizers`, finalizers);
}

/** Validates the maps of metadata, also on update: labels, annotations, finalizers. */
export function* validateMetadataMaps(field: string, meta: ObjectMeta, knownFinalizers: boolean): Faults {
  yield* maps(field, meta);
  yield* managedFields(`${field}.managedFields`, meta.managedFields ?? []);
  if (knownFinalizers) yield* kubeFinalizers(`${field}.finalizers`, meta.finalizers ?? []);
}

function* maps(field: string, meta: ObjectMeta): Faults {
  yield* labels(`${field}.labels`, meta.labels);
  yield* annotations(`${field}.annotations`, meta.annotations);
  yield* ownerReferences(`${field}.ownerReferences`, meta.ownerReferences ?? []);
}

const managerBytes = 128;
const subresourceBytes = 256;

function* managedFields(field: string, entries: NonNullable<ObjectMeta['managedFields']>): Faults {
  for (const [i, entry] of entries.entries()) {
    const at = `${field}[${i}]`;
    const { operation = '', fieldsType = '', manager = '', subresource = '' } = entry;
    if (operation !== 'Apply' && operation !== 'Update')
      yield invalid(`${at}.operation`, operation, 'must be `Apply` or `Update`');
    if (fieldsType !== '' && fieldsType !== 'FieldsV1')
      yield invalid(`${at}.fieldsType`, fieldsType, 'must be `FieldsV1`');
    if (Buffer.byteLength(manager) > managerBytes) yield tooLong(`${at}.manager`, managerBytes);
    yield* printable(`${at}.manager`, manager);
    if (Buffer.byteLength(subresource) > subresourceBytes)
      yield tooLong(`${at}.subresource`, subresourceBytes);
  }
}

function* printable(field: string, text: string): Faults {
  let position = 0;
  for (const character of text) {
    if (!isPrintable(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
      yield invalid(field, text, `invalid character U+${code} (at position ${position})`);
    }
    position += Buffer.byteLength(character);
  }
}

function* names(field: string, { name = '', generateName = '' }: ObjectMeta, check: NameCheck): Faults {
  if (generateName !== '')
    yield* invalidEach(`${field}.generateName`, generateName, check(generateName, true));
  if (name === '') yield required(`${field}.name`, 'name or generateName is required');
  else yield* invalidEach(`${field}.name`, name, check(name, false));
}

function* namespaceName(field: string, namespace: string): Faults {
  if (namespace === '') yield required(field);
  else yield* invalidEach(field, namespace, dns1123Label(namespace));
}

/** Validates annotations: their keys as label keys in any case, and their total size. */
export function* annotations(field: string, map: Readonly<Record<string, string>> | undefined): Faults {
  for (const [key] of sorted(map)) yield* invalidEach(field, key, qualifiedNameRule(key.toLowerCase()));
  yield* annotationsSize(field, map);
}

/** Validates the total size of annotations. */
export function* annotationsSize(field: string, map: Readonly<Record<string, string>> | undefined): Faults {
  let total = 0;
  for (const [key, value] of Object.entries(map ?? {}))
    total += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (total > annotationBytes) yield tooLong(field, annotationBytes);
}

function* ownerReferences(field: string, references: readonly OwnerReference[]): Faults {
  let first: string | undefined;
  for (const reference of references) {
    yield* ownerReference(field, reference);
    if (!(reference.controller ?? false)) continue;
    const owner = `${reference.kind}/${reference.name}`;
    if (first === undefined) first = owner;
    else
      yield invalid(
        field,
        references.map(plainOwner),
        `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${owner}`,
      );
  }
}

/** Returns an owner reference with its fields in API order. */
const plainOwner = (owner: Partial<OwnerReference>): unknown => ({
  apiVersion: owner.apiVersion ?? '',
  kind: owner.kind ?? '',
  name: owner.name ?? '',
  uid: owner.uid ?? '',
  ...(owner.controller !== undefined && { controller: owner.controller }),
  ...(owner.blockOwnerDeletion !== undefined && { blockOwnerDeletion: owner.blockOwnerDeletion }),
});

function* ownerReference(field: string, reference: Partial<OwnerReference>): Faults {
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference;
  const parts = apiVersion.split('/');
  if (parts.length > 2 || parts.at(-1) === '')
    yield invalid(`${field}.apiVersion`, apiVersion, 'version must not be empty');
  for (const [key, value] of [
    ['kind', kind],
    ['name', name],
    ['uid', uid],
  ] as const)
    if (value === '') yield invalid(`${field}.${key}`, value, 'must not be empty');
  if (apiVersion === 'v1' && kind === 'Event')
    yield invalid(field, plainOwner(reference), '/v1, Kind=Event is disallowed from being an owner');
}

const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

function* finalizerNames(field: string, list: readonly string[]): Faults {
  for (const finalizer of list) yield* invalidEach(field, finalizer, qualifiedNameRule(finalizer));
  if (list.includes('orphan') && list.includes('foregroundDeletion'))
    yield invalid(field, list, 'finalizer orphan and foregroundDeletion cannot be both set');
}

function* kubeFinalizers(field: string, list: readonly string[]): Faults {
  for (const [i, finalizer] of list.entries())
    if (!finalizer.includes('/') && !standardFinalizers.has(finalizer))
      yield invalid(
        `${field}[${i}]`,
        finalizer,
        'name is neither a standard finalizer name nor is it fully qualified',
      );
}

const mirrorAnnotation = 'kubernetes.io/config.mirror';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';
const appArmorContainer = 'container.apparmor.security.beta.kubernetes.io/';

/** Validates annotations with a meaning for pods (Kubernetes `ValidatePodSpecificAnnotations`). */
export function* validatePodAnnotations(field: string, pod: Pod): Faults {
  const map = pod.metadata?.annotations ?? {};
  const mirror = map[mirrorAnnotation];
  if (mirror !== undefined && (pod.spec?.nodeName ?? '') === '')
    yield invalid(
      `${field}[${mirrorAnnotation}]`,
      mirror,
      'must set spec.nodeName if mirror pod annotation is set',
    );
  const cost = map[deletionCost];
  if (cost !== undefined && !isInt32(cost))
    yield invalid(`${field}[${deletionCost}]`, cost, 'must be a 32bit integer');
  yield* profileAnnotations(field, map, pod);
}

function* profileAnnotations(field: string, map: Readonly<Record<string, string>>, pod: Pod): Faults {
  const podProfile = map[seccompPod];
  if (podProfile !== undefined) yield* seccompProfile(`${field}.${seccompPod}`, podProfile);
  for (const [key, value] of sorted(map))
    if (key.startsWith(seccompContainer)) yield* seccompProfile(`${field}.${key}`, value);
  for (const [key, value] of sorted(map))
    if (key.startsWith(appArmorContainer)) yield* appArmorAnnotation(`${field}[${key}]`, key, value, pod);
}

const isInt32 = (text: string): boolean =>
  /^(-[0-9]+|0|[1-9][0-9]*)$/.test(text) && Number(text) >= -(2 ** 31) && Number(text) < 2 ** 31;

function* seccompProfile(field: string, profile: string): Faults {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return;
  if (profile.startsWith('localhost/')) yield* descendingPath(field, profile.slice('localhost/'.length));
  else yield invalid(field, profile, 'must be a valid seccomp profile');
}

function* appArmorAnnotation(field: string, key: string, profile: string, pod: Pod): Faults {
  const name = key.slice(appArmorContainer.length);
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  if (
    ![...containers, ...initContainers, ...ephemeralContainers].some((container) => container.name === name)
  )
    yield invalid(field, name, 'container not found');
  if (!/^(|runtime\/default|unconfined|localhost\/.*)$/s.test(profile))
    yield invalid(field, profile, `invalid AppArmor profile name: ${goQuote(profile)}`);
}
