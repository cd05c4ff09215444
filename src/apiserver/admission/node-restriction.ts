import { unifiedDiff } from '../../kube/validation/spec-diff.ts';
import {
  type JsonObject,
  metadataOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  statusOf,
  stringAt,
  textOf,
  valueAt,
  without,
} from '../../apimachinery/json.ts';
import { notFound } from '../../apimachinery/status-error.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { nodeOf } from '../authorization/node-authorizer.ts';
import { keyOf } from '../storage/store.ts';
import { parsedRequest } from './certificate-subject.ts';
import { apiReferenceOf } from './mirror-references.ts';
import type { AdmissionPlugin, Attributes } from './plugin.ts';
import { refusal } from './plugin.ts';
import { checkLabels } from './node-labels.ts';
import { isMirror } from './service-account.ts';
import { checkTokenRequest } from './node-tokens.ts';

type Rule = (node: string, attributes: Attributes) => void | Promise<void>;

/**
 * Restricts nodes to their own objects: their Node, lease, CSINode and slices, mirror pods bound to them, the status of their pods and of
 * the claims those use, tokens for their pods, and signing requests in their own name. Follows kube-apiserver's plug-in (v1.36).
 */
export function nodeRestriction(authorizer: Pick<Authorizer, 'decide'>): AdmissionPlugin {
  const rules = rulesBy(authorizer);
  return {
    name: 'NodeRestriction',
    handles: (operation, kind) => operation !== 'CONNECT' && rules.has(resourceOf(kind)),
    admit(attributes) {
      const { user } = attributes.context;
      const node = nodeOf(user);
      if (node === undefined) return undefined;
      if (node === '')
        throw refusal(attributes, `could not determine node from user ${JSON.stringify(user.name)}`);
      const pending = rules.get(resourceOf(attributes.kind))?.(node, attributes);
      return pending?.then(() => undefined);
    },
  };
}

const resourceOf = ({ resource, group }: Attributes['kind']): string =>
  group === '' ? resource : `${resource}.${group}`;

const rulesBy = (authorizer: Pick<Authorizer, 'decide'>): ReadonlyMap<string, Rule> =>
  new Map<string, Rule>([
    ['pods', podRule],
    ['nodes', nodeRule],
    ['persistentvolumeclaims', claimRule],
    ['serviceaccounts', (node, attributes) => checkTokenRequest(node, attributes, authorizer)],
    ['leases.coordination.k8s.io', leaseRule],
    ['csinodes.storage.k8s.io', csiNodeRule],
    ['resourceslices.resource.k8s.io', sliceRule],
    ['certificatesigningrequests.certificates.k8s.io', signingRule],
  ]);

/** @throws {StatusError} 403, 404 */
function podRule(node: string, attributes: Attributes): void {
  const { operation, subresource } = attributes;
  if (subresource === 'status') {
    podStatusRule(node, attributes);
    return;
  }
  if (subresource === 'eviction') {
    evictionRule(node, attributes);
    return;
  }
  if (subresource !== '')
    throw refusal(
      attributes,
      `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`,
    );
  if (operation === 'CREATE') podCreation(node, attributes);
  else if (operation === 'DELETE') {
    if (valueAt(attributes.oldObject, 'spec', 'nodeName') !== node)
      throw refusal(
        attributes,
        `node ${JSON.stringify(node)} can only delete pods with spec.nodeName set to itself`,
      );
  } else
    throw refusal(
      attributes,
      `unexpected operation ${JSON.stringify(operation)}, node ${JSON.stringify(node)} can only create and delete mirror pods`,
    );
}

function podCreation(node: string, attributes: Attributes): void {
  const { object: pod = {} } = attributes;
  const quoted = JSON.stringify(node);
  if (!isMirror(pod))
    throw refusal(
      attributes,
      `pod does not have "kubernetes.io/config.mirror" annotation, node ${quoted} can only create mirror pods`,
    );
  if (valueAt(pod, 'spec', 'nodeName') !== node)
    throw refusal(attributes, `node ${quoted} can only create pods with spec.nodeName set to itself`);
  ownedByNode(node, attributes);
  const reference = apiReferenceOf(pod);
  if (reference === undefined) return;
  throw refusal(
    attributes,
    'fault' in reference
      ? `error checking mirror pod for API references: ${reference.fault}`
      : `node ${quoted} can not create pods that reference ${reference.resource}`,
  );
}

/** @throws {StatusError} 403 unless the node is the only owner of the pod, 404 when the node does not exist */
function ownedByNode(node: string, attributes: Attributes): void {
  const quoted = JSON.stringify(node);
  const must = (what: string): Error =>
    refusal(attributes, `node ${quoted} can only create pods with ${what} set to itself`);
  const [owner, ...more] = objectsAt(metadataOf(attributes.object), 'ownerReferences');
  if (more.length > 0) throw must('a single owner reference');
  const { apiVersion, kind, name, controller, blockOwnerDeletion, uid } = owner ?? {};
  if (!sameJson({ apiVersion, kind, name }, { apiVersion: 'v1', kind: 'Node', name: node }))
    throw must('an owner reference');
  if (controller !== true) throw must('a controller owner reference');
  if (blockOwnerDeletion === true)
    throw refusal(attributes, `node ${quoted} must not set blockOwnerDeletion on an owner reference`);
  const found = valueAt(attributes.context.world.store.get('nodes', node)?.object, 'metadata', 'uid');
  if (found === undefined) throw notFound({ kind: 'node', name: node });
  if (found !== uid)
    throw refusal(attributes, `node ${node} UID mismatch: expected ${textOf(uid)} got ${textOf(found)}`);
}

function podStatusRule(node: string, attributes: Attributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation !== 'UPDATE') throw unexpected(attributes);
  const quoted = JSON.stringify(node);
  if (valueAt(oldObject, 'spec', 'nodeName') !== node)
    throw refusal(
      attributes,
      `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`,
    );
  if (!sameJson(objectAt(metadataOf(object), 'labels'), objectAt(metadataOf(oldObject), 'labels')))
    throw refusal(attributes, `node ${quoted} cannot update labels through pod status`);
  const differs = (of: (status: JsonObject) => unknown): boolean =>
    !sameJson(of(statusOf(object)), of(statusOf(oldObject)));
  if (differs(claimStatuses))
    throw refusal(attributes, `node ${quoted} cannot update resource claim statues`);
  if (differs((status) => status['extendedResourceClaimStatus']))
    throw refusal(attributes, `node ${quoted} cannot update extended resource claim status`);
}

const claimStatuses = (status: JsonObject): unknown =>
  objectsAt(status, 'resourceClaimStatuses').map(({ name, resourceClaimName }) => ({
    name,
    resourceClaimName,
  }));

const unexpected = (attributes: Attributes): Error =>
  refusal(attributes, `unexpected operation ${JSON.stringify(attributes.operation)}`);

/** Allows a node to evict only its own pods. @throws {StatusError} 403, 404 */
function evictionRule(node: string, attributes: Attributes): void {
  const { operation, namespace, name, context } = attributes;
  if (operation !== 'CREATE') throw refusal(attributes, `unexpected operation ${operation}`);
  const pod = context.world.store.get('pods', keyOf(namespace, name))?.object;
  if (!pod) throw notFound({ kind: 'pod', name });
  if (valueAt(pod, 'spec', 'nodeName') !== node)
    throw refusal(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

/** Allows a node to change only the capacity, conditions and resize progress of a claim. @throws {StatusError} 403 */
function claimRule(node: string, attributes: Attributes): void {
  const { operation, subresource, object = {}, oldObject = {} } = attributes;
  if (subresource !== 'status') throw refusal(attributes, 'may only update PVC status');
  if (operation !== 'UPDATE') throw unexpected(attributes);
  const [now, before] = [fixedOf(object), fixedOf(oldObject)];
  if (sameJson(now, before)) return;
  const lines = (claim: JsonObject): string[] => JSON.stringify(claim, null, 1).split('\n');
  throw refusal(
    attributes,
    `node ${JSON.stringify(node)} is not allowed to update fields other than status.quantity and status.conditions: ${unifiedDiff(lines(before), lines(now))}`,
  );
}

const fixedOf = (claim: JsonObject): JsonObject => ({
  ...claim,
  metadata: without(metadataOf(claim), 'resourceVersion', 'managedFields'),
  status: without(
    statusOf(claim),
    'capacity',
    'conditions',
    'allocatedResourceStatuses',
    'allocatedResources',
  ),
});

/** @throws {StatusError} 403 */
function nodeRule(node: string, attributes: Attributes): void {
  const { operation, name, object, oldObject } = attributes;
  const quoted = JSON.stringify(node);
  if (name !== node)
    throw refusal(attributes, `node ${quoted} is not allowed to modify node ${JSON.stringify(name)}`);
  if (operation === 'CREATE') {
    if (specOf(object)['configSource'] !== undefined)
      throw refusal(attributes, `node ${quoted} is not allowed to create pods with a non-nil configSource`);
    checkLabels(attributes, `node ${quoted} is not allowed to set the following labels`);
  }
  if (operation !== 'UPDATE') return;
  const [spec, before] = [specOf(object), specOf(oldObject)];
  const no = (what: string): Error => refusal(attributes, `node ${quoted} is not allowed to ${what}`);
  const source = spec['configSource'];
  if (source !== undefined && !sameJson(source, before['configSource']))
    throw no('update configSource to a new non-nil configSource');
  if (!sameJson(objectsAt(spec, 'taints'), objectsAt(before, 'taints'))) throw no('modify taints');
  const owners = (one: JsonObject | undefined): unknown => objectsAt(metadataOf(one), 'ownerReferences');
  if (!sameJson(owners(object), owners(oldObject))) throw no('modify ownerReferences');
  checkLabels(attributes, 'is not allowed to modify labels');
}

function leaseRule(node: string, attributes: Attributes): void {
  if (attributes.namespace !== 'kube-node-lease')
    throw refusal(attributes, 'can only access leases in the "kube-node-lease" system namespace');
  ofOwnName(node, attributes, 'node lease');
}

const csiNodeRule: Rule = (node, attributes) => {
  ofOwnName(node, attributes, 'CSINode');
};

function ofOwnName(node: string, attributes: Attributes, what: string): void {
  const { operation, object, name } = attributes;
  const named = operation === 'CREATE' ? stringAt(metadataOf(object), 'name') : name;
  if (named !== node)
    throw refusal(attributes, `can only access ${what} with the same name as the requesting node`);
}

/** Other access to slices is decided by the authorizer, which sees the object, except for a new one and each object of a collection. */
function sliceRule(node: string, attributes: Attributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation !== 'CREATE' && operation !== 'DELETE') return;
  const [slice, how] = operation === 'CREATE' ? [object, 'create'] : [oldObject, 'delete'];
  if (specOf(slice)['nodeName'] !== node)
    throw refusal(attributes, `can only ${how} ResourceSlice with the same NodeName as the requesting node`);
}

const nodeSigners = new Set(['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving']);

/** Allows a node to request certificates only in its own name. @throws {StatusError} 403 */
function signingRule(node: string, attributes: Attributes): void {
  const spec = specOf(attributes.object);
  if (attributes.operation !== 'CREATE' || !nodeSigners.has(stringAt(spec, 'signerName'))) return;
  const request = parsedRequest(spec);
  if (typeof request === 'string') throw refusal(attributes, `unable to parse csr: ${request}`);
  if (request.subject.commonName !== `system:node:${node}`)
    throw refusal(attributes, `can only create a node CSR with CN=system:node:${node}`);
}
