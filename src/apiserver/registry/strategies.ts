import { emptyStruct } from '../../apimachinery/serializer/codec.ts';
import { bump } from './deletion.ts';
import { fieldsOf, structOf } from '../../apimachinery/api-types.ts';
import { type JsonObject, objectAt, sameJson, withMetadata } from '../../apimachinery/json.ts';
import { sameInMeaning } from '../../apimachinery/semantic-equality.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import type { ResetFields } from '../../apimachinery/managed-fields/managed-fields.ts';
import type { Strategy, UpdateRules } from './strategy.ts';

/** Kinds with a generation that counts changes of their spec. */
const counted = new Set(
  (
    'Pod Deployment ReplicaSet DaemonSet StatefulSet ReplicationController Job CronJob PodDisruptionBudget NetworkPolicy Ingress ' +
    'IngressClass CustomResourceDefinition FlowSchema PriorityLevelConfiguration MutatingWebhookConfiguration ' +
    'ValidatingWebhookConfiguration ValidatingAdmissionPolicy MutatingAdmissionPolicy EndpointSlice ResourceSlice DeviceClass PodTemplate'
  ).split(' '),
);

/** Kinds whose DELETE returns the object instead of a Status. */
const returned = new Set(
  'Pod Service ServiceAccount PersistentVolume PersistentVolumeClaim ResourceQuota PodTemplate StorageClass CSINode CSIDriver VolumeAttachment VolumeAttributesClass DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice'.split(
    ' ',
  ),
);

/** Kinds older than garbage collection, whose DELETE orphans their pods unless it names a policy. */
const orphaning = new Set(['Job', 'ReplicationController']);

/** Kinds that PUT and apply may create. */
const putCreates = new Set(
  'Lease Event Endpoints LimitRange Service RuntimeClass Role RoleBinding ClusterRole ClusterRoleBinding'.split(
    ' ',
  ),
);

/** Kinds whose PUT requires a resourceVersion. */
const conditionalOnly = new Set(
  (
    'Lease APIService CustomResourceDefinition PodDisruptionBudget RuntimeClass CSIDriver CSINode CSIStorageCapacity VolumeAttachment ' +
    'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ' +
    'ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration ClusterTrustBundle'
  ).split(' '),
);

const contentKeys = (object: JsonObject): JsonObject => {
  const { metadata: _m, status: _s, ...rest } = object;
  return rest;
};

/** Kinds whose generation counts even that an empty list or map is left out. */
const exactlyCounted = new Set([
  'NetworkPolicy',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
]);

const sameContent = (a: JsonObject, b: JsonObject, { kind, type }: Kind): boolean =>
  exactlyCounted.has(kind) ? sameJson(a, b) : sameInMeaning(a, b, structOf(type));

const statusPath: ResetFields = [['f:status']];
/** Returns the members of a type besides metadata and status, which a status update does not change. */
export const specPaths = (type: string): ResetFields =>
  [...fieldsOf(type).keys()]
    .filter((key) => key !== 'status' && key !== 'metadata')
    .map((key) => [`f:${key}`]);

const zeroStatus = (kind: Kind): JsonObject => {
  const status = emptyStruct(kind.type)['status'];
  return status === undefined ? {} : { status };
};

/** Returns the rules of the main resource: the status stays unchanged, the generation counts changes. */
export function mainRules(kind: Kind, hasStatus: boolean): UpdateRules {
  return {
    reset: hasStatus ? statusPath : [],
    prepare: (object, old) => {
      const withStatus: JsonObject = hasStatus
        ? { ...object, ...(old['status'] === undefined ? {} : { status: old['status'] }) }
        : object;
      const { status: _s, ...stripped } = withStatus;
      const next = hasStatus && old['status'] === undefined ? stripped : withStatus;
      const changed = counted.has(kind.kind) && !sameContent(contentKeys(next), contentKeys(old), kind);
      return changed ? withMetadata(next, bump(old)) : next;
    },
  };
}

/** Returns the rules of a status subresource: only status, labels and annotations change. */
export function statusRules(kind: Kind): UpdateRules {
  return {
    reset: [
      ...specPaths(kind.type),
      ['f:metadata', 'f:ownerReferences'],
      ['f:metadata', 'f:deletionTimestamp'],
    ],
    prepare: (object, old) => ({
      ...old,
      metadata: {
        ...objectAt(object, 'metadata'),
        ownerReferences: objectAt(old, 'metadata')['ownerReferences'],
      },
      ...(object['status'] === undefined ? {} : { status: object['status'] }),
    }),
  };
}

/** Returns the default rules of a kind. */
export function commonStrategy(kind: Kind): Strategy {
  const hasStatus = kind.subresources.some((sub) => sub.name === 'status');
  return {
    kind,
    defaults: (object) => object,
    prepareCreate: (object) => {
      const { status: _s, ...rest } = object;
      const bare = hasStatus ? { ...rest, ...zeroStatus(kind) } : object;
      return counted.has(kind.kind) ? withMetadata(bare, { generation: 1 }) : bare;
    },
    validateCreate: () => [],
    createReset: hasStatus ? statusPath : [],
    main: mainRules(kind, hasStatus),
    subresources: hasStatus ? { status: statusRules(kind) } : {},
    createOnUpdate: putCreates.has(kind.kind),
    unconditionalUpdate: !conditionalOnly.has(kind.kind),
    orphansDependents: orphaning.has(kind.kind),
    deleteReturnsObject: returned.has(kind.kind),
  };
}
