import { type JsonObject, metadataOf } from '../../../apimachinery/json.ts';
import {
  boolType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  timestampType,
  type Type,
} from '../check/types.ts';
import {
  authorizerType,
  authorizerValue,
  type DecideAccess,
  requestResourceValue,
  resourceCheckType,
} from '../library/authorizer.ts';
import type { Activation } from '../eval/frame.ts';
import { kubernetes } from '../program.ts';
import { fromJson } from '../values/json.ts';
import type { Value } from '../values/value.ts';
import type { Declarations } from '../check/declarations.ts';

const struct = (name: string, fields: Readonly<Record<string, Type>>): Type => {
  const byName = new Map(Object.entries(fields));
  return structType(`kubernetes.${name}`, (field) => byName.get(field));
};
const texts = listType(stringType);
const labels = mapType(stringType, stringType);

const kindType = struct('GroupVersionKind', { group: stringType, version: stringType, kind: stringType });
const resourceType = struct('GroupVersionResource', {
  group: stringType,
  version: stringType,
  resource: stringType,
});
const userType = struct('UserInfo', {
  username: stringType,
  uid: stringType,
  groups: texts,
  extra: mapType(stringType, texts),
});

/** What an expression sees of the request, as `request`. */
export const requestType: Type = struct('AdmissionRequest', {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: userType,
  dryRun: boolType,
  options: dynType,
});

const namespaceMetadata = struct('NamespaceMetadata', {
  name: stringType,
  generateName: stringType,
  namespace: stringType,
  labels,
  annotations: labels,
  UID: stringType,
  creationTimestamp: timestampType,
  deletionGracePeriodSeconds: intType,
  deletionTimestamp: timestampType,
  generation: intType,
  resourceVersion: stringType,
  finalizers: texts,
});
const namespaceCondition = struct('NamespaceCondition', {
  status: stringType,
  type: stringType,
  lastTransitionTime: timestampType,
  message: stringType,
  reason: stringType,
});
/** What an expression sees of the namespace, as `namespaceObject`. */
export const namespaceType: Type = struct('Namespace', {
  metadata: namespaceMetadata,
  spec: struct('NamespaceSpec', { finalizers: texts }),
  status: struct('NamespaceStatus', { conditions: listType(namespaceCondition), phase: stringType }),
});

/** Returns the type of a variable of a policy by that of its expression: structs and optionals are not checked further. */
export function declaredTypeOf(type: Type): Type {
  switch (type.kind) {
    case 'list':
      return listType(declaredTypeOf(type.params[0] ?? dynType));
    case 'map':
      return mapType(declaredTypeOf(type.params[0] ?? dynType), declaredTypeOf(type.params[1] ?? dynType));
    case 'struct':
    case 'opaque':
    case 'type':
      return dynType;
    default:
      return type;
  }
}

/** The variables that not every expression has. */
export interface DeclaredVariables {
  readonly params?: boolean;
  readonly authorizer?: boolean;
}

/** Returns what expressions of admission may refer to. */
export const admissionDeclarations = ({ params, authorizer }: DeclaredVariables): Declarations =>
  kubernetes.with({
    object: dynType,
    oldObject: dynType,
    namespaceObject: namespaceType,
    request: requestType,
    ...(params && { params: dynType }),
    ...(authorizer && { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType }),
  });

/** The resource that a request is about, for `authorizer.requestResource`. */
type RequestedResource = Parameters<typeof requestResourceValue>[1];

/** The request that expressions of admission are evaluated for. */
export interface AdmissionInput {
  /** Absent for deletions and connections. */
  readonly object?: JsonObject | undefined;
  readonly oldObject?: JsonObject | undefined;
  /** The AdmissionRequest (v1) without the objects. */
  readonly request: JsonObject;
  readonly namespace?: JsonObject | undefined;
  readonly params?: JsonObject | undefined;
  /** Decides `authorizer` checks; absent: there is no such variable. */
  readonly authorizer?: { readonly decide: DecideAccess; readonly resource: RequestedResource } | undefined;
}

/** The parts of a namespace that expressions see. */
function namespaceOf(namespace: JsonObject): JsonObject {
  const { managedFields: _managed, ownerReferences: _owners, ...metadata } = metadataOf(namespace);
  return { ...namespace, metadata };
}

/** Returns the values of the variables, each made once. */
export function activationOf(input: AdmissionInput): Activation {
  const { authorizer } = input;
  const make: Readonly<Record<string, () => Value | undefined>> = {
    object: () => fromJson(input.object),
    oldObject: () => fromJson(input.oldObject),
    request: () => fromJson(input.request),
    namespaceObject: () => fromJson(input.namespace && namespaceOf(input.namespace)),
    params: () => fromJson(input.params),
    authorizer: () => authorizer && authorizerValue(authorizer.decide),
    'authorizer.requestResource': () =>
      authorizer && requestResourceValue(authorizer.decide, authorizer.resource),
  };
  const makers = new Map(Object.entries(make));
  const values = new Map<string, Value | undefined>();
  return (name) => {
    if (!values.has(name)) values.set(name, makers.get(name)?.());
    return values.get(name);
  };
}
