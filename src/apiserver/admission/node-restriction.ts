import { readSigningRequest } from '../../pki/certificates.ts';
import { referencedConfigMaps } from '../../kube/references.ts';
import type { Pod } from '../../kube/types.ts';
import { nodeOf } from '../authorization/authorizer.ts';
import {
  type JsonObject,
  nameOf,
  namespaceOf,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { pathSegment } from '../../apimachinery/path-segment.ts';
import { accountOf, isMirror } from './pod-plugins.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Admission } from '../endpoints/exchange.ts';
import { forbidden, internalError, notFound, StatusError } from '../../apimachinery/status-error.ts';
import { admittedName } from '../storage/names.ts';
import type { Store } from '../storage/store.ts';
import type { User } from '../authentication/users.ts';

/** Does a pod refer to an object of this kind at all? */
const hasReference: Readonly<Record<string, (pod: Pod) => boolean>> = {
  configmaps: (pod) => referencedConfigMaps(pod).size > 0,
  persistentvolumeclaims: (pod) =>
    (pod.spec?.volumes ?? []).some((volume) => volume.persistentVolumeClaim !== undefined),
};

/** No new content in a namespace that is not there or is going away (admission plugin NamespaceLifecycle). */
function checkNamespace(store: Store, namespace: string, kind: Kind, name: string): void {
  const found = store.get('namespaces', namespace);
  const faults = pathSegment(namespace, false);
  if (faults.length > 0)
    throw internalError(`invalid resource name ${JSON.stringify(namespace)}: [${faults.join(' ')}]`);
  if (!found) throw notFound({ kind: 'namespaces', name: namespace });
  if (valueAt(found.object, 'metadata', 'deletionTimestamp') === undefined) return;
  const where = kind.group ? `${kind.resource}.${kind.group}` : kind.resource;
  throw new StatusError(
    403,
    'Forbidden',
    `${where} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
    {
      details: {
        name,
        ...(kind.group && { group: kind.group }),
        kind: kind.resource,
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    },
  );
}

/** What a node may do to objects besides what it is authorized to (admission plugin NodeRestriction). */
class NodeRestriction {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  create(request: ApiRequest, kind: Kind, object: JsonObject): void {
    const node = nodeOf(request.user);
    if (node === undefined) return;
    if (kind.resource === 'pods') this.#createPod(node, object, request.target?.namespace ?? '');
    if (kind.resource === 'nodes') this.#node(node, object, undefined);
    if (kind.resource === 'leases') this.#lease(node, object);
    if (kind.resource === 'certificatesigningrequests') signingRequest(node, object);
  }

  update(request: ApiRequest, kind: Kind, object: JsonObject, old: JsonObject): void {
    const node = nodeOf(request.user);
    if (node === undefined) return;
    if (kind.resource === 'pods') this.#updatePod(node, object, old);
    if (kind.resource === 'nodes') this.#node(node, object, old);
    if (kind.resource === 'leases') this.#lease(node, old);
  }

  delete(request: ApiRequest, kind: Kind, old: JsonObject): void {
    const node = nodeOf(request.user);
    if (node === undefined || kind.resource !== 'pods') return;
    if (valueAt(old, 'spec', 'nodeName') !== node)
      throw refuse(
        'pods',
        old,
        `node ${JSON.stringify(node)} can only delete pods with spec.nodeName set to itself`,
      );
  }

  #createPod(node: string, given: JsonObject, namespace: string): void {
    const pod = { ...given, spec: { containers: [], ...objectAt(given, 'spec') } }; // not looked at yet
    accountOf(pod, this.#store, namespace); // admission asks for that first
    if (!isMirror(pod))
      throw refuse(
        'pods',
        pod,
        `pod does not have "kubernetes.io/config.mirror" annotation, node ${JSON.stringify(node)} can only create mirror pods`,
      );
    if (valueAt(pod, 'spec', 'nodeName') !== node)
      throw refuse(
        'pods',
        pod,
        `node ${JSON.stringify(node)} can only create pods with spec.nodeName set to itself`,
      );
    this.#ownedByNode(node, pod);
    for (const resource of ['configmaps', 'persistentvolumeclaims']) this.#noReference(node, pod, resource);
  }

  #ownedByNode(node: string, pod: JsonObject): void {
    const must = (what: string): Error =>
      refuse('pods', pod, `node ${JSON.stringify(node)} can only create pods with ${what} set to itself`);
    const [owner, ...more] = objectsAt(objectAt(pod, 'metadata'), 'ownerReferences');
    if (more.length > 0) throw must('a single owner reference');
    const { apiVersion, kind, name, controller, blockOwnerDeletion, uid } = owner ?? {};
    if (!sameJson({ apiVersion, kind, name }, { apiVersion: 'v1', kind: 'Node', name: node }))
      throw must('an owner reference');
    if (controller !== true) throw must('a controller owner reference');
    if (blockOwnerDeletion === true)
      throw refuse(
        'pods',
        pod,
        `node ${JSON.stringify(node)} must not set blockOwnerDeletion on an owner reference`,
      );
    const found = valueAt(this.#store.get('nodes', node)?.object, 'metadata', 'uid');
    if (found === undefined) throw notFound({ kind: 'node', name: node });
    if (found !== uid)
      throw refuse('pods', pod, `node ${node} UID mismatch: expected ${textOf(uid)} got ${textOf(found)}`);
  }

  #noReference(node: string, pod: JsonObject, resource: string): void {
    if (!hasReference[resource]?.(pod)) return;
    throw refuse('pods', pod, `node ${JSON.stringify(node)} can not create pods that reference ${resource}`);
  }

  #updatePod(node: string, pod: JsonObject, old: JsonObject): void {
    if (valueAt(old, 'spec', 'nodeName') !== node)
      throw refuse(
        'pods',
        old,
        `node ${JSON.stringify(node)} can only update pod status for pods with spec.nodeName set to itself`,
      );
    if (
      !sameJson(objectAt(objectAt(pod, 'metadata'), 'labels'), objectAt(objectAt(old, 'metadata'), 'labels'))
    )
      throw refuse('pods', old, `node ${JSON.stringify(node)} cannot update labels through pod status`);
  }

  #node(node: string, object: JsonObject, old: JsonObject | undefined): void {
    const quoted = JSON.stringify(node);
    const no = (why: string): Error => refuse('nodes', object, why);
    if (![node, ''].includes(nameOf(object)))
      throw no(`node ${quoted} is not allowed to modify node ${JSON.stringify(nameOf(object))}`);
    const [spec, before] = [objectAt(object, 'spec'), objectAt(old, 'spec')];
    if (spec['configSource'] !== undefined && !sameJson(spec['configSource'], before['configSource']))
      throw no(`node ${quoted} is not allowed to update configSource to a new non-nil configSource`);
    if (old && !sameJson(objectsAt(spec, 'taints'), objectsAt(before, 'taints')))
      throw no(`node ${quoted} is not allowed to modify taints`);
    nodeLabels(node, object, old);
    const owners = valueAt(object, 'metadata', 'ownerReferences');
    if (old && owners !== undefined && !sameJson(owners, valueAt(old, 'metadata', 'ownerReferences')))
      throw no(`node ${quoted} is not allowed to modify ownerReferences`);
  }

  #lease(node: string, lease: JsonObject): void {
    if (namespaceOf(lease) !== 'kube-node-lease')
      throw refuse(
        'leases.coordination.k8s.io',
        lease,
        'can only access leases in the "kube-node-lease" system namespace',
      );
    if (nameOf(lease) !== node)
      throw refuse(
        'leases.coordination.k8s.io',
        lease,
        'can only access node lease with the same name as the requesting node',
      );
  }
}

const nodeSigners = ['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving'];

/** A node asks for certificates in its own name. */
function signingRequest(node: string, object: JsonObject): void {
  const spec = objectAt(object, 'spec');
  if (!nodeSigners.includes(stringAt(spec, 'signerName'))) return;
  const common = commonNameOf(stringAt(spec, 'request'));
  if (common === `system:node:${node}`) return;
  const why =
    common === undefined
      ? 'unable to parse csr: PEM block type must be CERTIFICATE REQUEST'
      : `can only create a node CSR with CN=system:node:${node}`;
  throw refuse('certificatesigningrequests.certificates.k8s.io', object, why);
}

function commonNameOf(request: string): string | undefined {
  try {
    return readSigningRequest(Buffer.from(request, 'base64').toString()).subject.commonName;
  } catch {
    return undefined;
  }
}

/** A node evicts its own pods alone. @throws {StatusError} 403 */
export function admitEviction(user: User, name: string, find: () => { readonly object: JsonObject }): void {
  const node = nodeOf(user);
  const pod = found(find, node === undefined ? undefined : notFound({ kind: 'pod', name }));
  if (node !== undefined && valueAt(pod, 'spec', 'nodeName') !== node)
    throw refuse('pods', pod, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

/** What `find` finds; a node is told in its own words that it is not there. @throws {StatusError} 404 */
function found(find: () => { readonly object: JsonObject }, missing: StatusError | undefined): JsonObject {
  try {
    return find().object;
  } catch (reason) {
    throw missing !== undefined && reason instanceof StatusError && reason.code === 404 ? missing : reason;
  }
}

/** A node may change its own labels and those outside Kubernetes' domains. */
function nodeLabels(node: string, object: JsonObject, old: JsonObject | undefined): void {
  const labels = (one: JsonObject | undefined): JsonObject => objectAt(objectAt(one, 'metadata'), 'labels');
  const wrong = changedLabels(labels(object), labels(old)).filter((label) => !mayLabel(label));
  if (wrong.length === 0) return;
  const how = old
    ? 'is not allowed to modify labels'
    : `node ${JSON.stringify(node)} is not allowed to set the following labels`;
  throw refuse('nodes', object, `${how}: ${wrong.join(', ')}`);
}

function refuse(resource: string, object: JsonObject, why: string): Error {
  const [kind = '', ...group] = resource.split('.');
  return forbidden(
    {
      kind,
      name: admittedName(objectAt(object, 'metadata')),
      ...(group.length > 0 && { group: group.join('.') }),
    },
    why,
  );
}

const ownLabels = new Set(
  (
    'kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os beta.kubernetes.io/instance-type node.kubernetes.io/instance-type ' +
    'failure-domain.beta.kubernetes.io/region failure-domain.beta.kubernetes.io/zone topology.kubernetes.io/region topology.kubernetes.io/zone ' +
    'beta.kubernetes.io/os beta.kubernetes.io/arch'
  ).split(' '),
);

/** Whether a node may set a label on itself: its own ones, and every one outside Kubernetes' domains. */
function mayLabel(label: string): boolean {
  if (ownLabels.has(label)) return true;
  const domain = label.includes('/') ? (label.split('/')[0] ?? '') : '';
  const within = (parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
  if (within('node-restriction.kubernetes.io')) return false;
  if (within('kubelet.kubernetes.io') || within('node.kubernetes.io')) return true;
  return !within('kubernetes.io') && !within('k8s.io');
}

const changedLabels = (now: JsonObject, before: JsonObject): string[] =>
  [...new Set([...Object.keys(now), ...Object.keys(before)])]
    .filter((key) => now[key] !== before[key])
    .sort();

/** Admission plugins that look at who asks and where. */
export function createAdmission(store: Store): Admission {
  const restriction = new NodeRestriction(store);
  return {
    create(request, kind, object) {
      const namespace = request.target?.namespace ?? '';
      if (kind.namespaced) {
        if (namespace !== '')
          checkNamespace(store, namespace, kind, admittedName(objectAt(object, 'metadata')));
      }
      restriction.create(request, kind, object);
      return object;
    },
    update: (request, kind, object, old) => {
      restriction.update(request, kind, object, old);
    },
    delete: (request, kind, old) => {
      restriction.delete(request, kind, old);
    },
  };
}
