import { immutableMetadata } from '../kube/validation/metadata-update.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  labelValueRule,
  qualifiedNameRule,
} from '../kube/validation/name-rules.ts';
import { type JsonObject, listAt, objectAt, objectsAt, sameJson, stringAt, textOf } from './json.ts';
import type { Kind } from './kinds.ts';
import { fault, type FieldFault } from './status-error.ts';

/** Faults of a name; the text of each. */
export type NameCheck = (name: string, prefix: boolean) => readonly string[];

const masked = (name: string, prefix: boolean): string =>
  prefix && name.endsWith('-') ? `${name.slice(0, -1)}a` : name;

export const subdomainName: NameCheck = (name, prefix) => dns1123Subdomain(masked(name, prefix));
const label: NameCheck = (name, prefix) => dns1123Label(masked(name, prefix));
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
};

/** How names of the kind are checked. */
export const nameCheckOf = (kind: Kind): NameCheck => checks[kind.kind] ?? subdomainName;

const annotationsMost = 256 * 1024;

function checkLabels(labels: JsonObject, field: string): FieldFault[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedNameRule(key).map((why) => fault.invalid(field, key, why)),
    ...labelValueRule(textOf(value)).map((why) => fault.invalid(field, value, why)),
  ]);
}

function checkAnnotations(annotations: JsonObject): FieldFault[] {
  const faults: FieldFault[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    faults.push(
      ...qualifiedNameRule(key.toLowerCase()).map((why) => fault.invalid('metadata.annotations', key, why)),
    );
    size += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  }
  if (size > annotationsMost) faults.push(fault.tooLong('metadata.annotations', annotationsMost));
  return faults;
}

function checkOwners(owners: readonly JsonObject[]): FieldFault[] {
  const faults: FieldFault[] = [];
  let controller = '';
  owners.forEach((owner) => {
    const field = 'metadata.ownerReferences';
    const apiVersion = stringAt(owner, 'apiVersion');
    if (!apiVersion)
      faults.push(fault.invalid(`${field}.apiVersion`, apiVersion, 'version must not be empty'));
    for (const key of ['kind', 'name', 'uid'] as const) {
      if (!stringAt(owner, key)) faults.push(fault.invalid(`${field}.${key}`, '', 'must not be empty'));
    }
    if (owner['controller'] === true) {
      if (controller)
        faults.push(
          fault.invalid(
            field,
            `[]v1.OwnerReference`,
            `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${stringAt(owner, 'kind')}/${stringAt(owner, 'name')}`,
          ),
        );
      else controller = `${stringAt(owner, 'kind')}/${stringAt(owner, 'name')}`;
    }
  });
  return faults;
}

/** Checks metadata as for every kind (apimachinery `ValidateObjectMeta`). */
export function validateMetadata(
  object: JsonObject,
  kind: Kind,
  check: NameCheck = nameCheckOf(kind),
): FieldFault[] {
  const metadata = objectAt(object, 'metadata');
  const name = stringAt(metadata, 'name');
  const prefix = stringAt(metadata, 'generateName');
  const faults: FieldFault[] = [];
  if (prefix)
    faults.push(...check(prefix, true).map((why) => fault.invalid('metadata.generateName', prefix, why)));
  if (!name) faults.push(fault.required('metadata.name', 'name or generateName is required'));
  else faults.push(...check(name, false).map((why) => fault.invalid('metadata.name', name, why)));
  faults.push(...checkLabels(objectAt(metadata, 'labels'), 'metadata.labels'));
  faults.push(...checkAnnotations(objectAt(metadata, 'annotations')));
  faults.push(...checkOwners(objectsAt(metadata, 'ownerReferences')));
  for (const finalizer of listAt(metadata, 'finalizers')) {
    const text = String(finalizer);
    faults.push(...qualifiedNameRule(text).map((why) => fault.invalid('metadata.finalizers', text, why)));
  }
  return faults;
}

/** Checks that an update leaves alone what never changes (apimachinery `ValidateObjectMetaUpdate`). */
export function validateMetadataUpdate(object: JsonObject, old: JsonObject): FieldFault[] {
  const [now, before] = [objectAt(object, 'metadata'), objectAt(old, 'metadata')];
  const faults: FieldFault[] = [];
  for (const key of immutableMetadata) {
    if (!sameJson(now[key], before[key]))
      faults.push(fault.invalid(`metadata.${key}`, now[key] ?? null, 'field is immutable'));
  }
  if (before['deletionTimestamp'] !== undefined) {
    const known = listAt(before, 'finalizers');
    const added = listAt(now, 'finalizers').filter((finalizer) => !known.includes(finalizer));
    if (added.length > 0)
      faults.push(
        fault.forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((f) => JSON.stringify(f)).join(', ')}}`,
        ),
      );
  }
  faults.push(...checkLabels(objectAt(now, 'labels'), 'metadata.labels'));
  faults.push(...checkAnnotations(objectAt(now, 'annotations')));
  faults.push(...checkOwners(objectsAt(now, 'ownerReferences')));
  return faults;
}
