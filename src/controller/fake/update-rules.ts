import { findByKind } from '../../apimachinery/kinds.ts';
import { structOf, type Shape } from '../../apimachinery/api-types.ts';
import { apiVersionOf } from '../kinds.ts';
import type { Kind } from '../types.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** Built-in kinds of which the API server takes no update without a resource version. */
const conditional = words(
  `Lease CustomResourceDefinition MutatingWebhookConfiguration ValidatingWebhookConfiguration MutatingAdmissionPolicy
   MutatingAdmissionPolicyBinding ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding APIService CSIDriver CSINode CSIStorageCapacity
   VolumeAttachment VolumeAttributesClass EndpointSlice PodDisruptionBudget RuntimeClass ClusterTrustBundle DeviceClass ResourceClaim
   ResourceClaimTemplate ResourceSlice IPAddress ServiceCIDR`,
);

/** Built-in kinds that an update creates. */
const createdOnUpdate = words(
  `Lease Event LimitRange Endpoints Service RuntimeClass ClusterRole ClusterRoleBinding Role RoleBinding`,
);

const isBuiltIn = (kind: Kind): boolean => findByKind(apiVersionOf(kind), kind.kind) !== undefined;

/** Reports whether an update without a resource version replaces whatever is there. */
export const allowsUnconditionalUpdate = (kind: Kind): boolean =>
  isBuiltIn(kind) && !conditional.has(kind.kind);

/** Reports whether an update of an object that does not exist creates it. */
export const allowsCreateOnUpdate = (kind: Kind): boolean =>
  isBuiltIn(kind) && createdOnUpdate.has(kind.kind);

/** Reports whether a built-in kind has a status subresource. */
export const hasStatus = (kind: Kind): boolean =>
  findByKind(apiVersionOf(kind), kind.kind)?.subresources.some(({ name }) => name === 'status') ?? false;

const free: Shape = { is: 'scalar', scalar: 'any', deduced: true };

/** A custom resource: metadata as everywhere, the rest as its values are. */
const custom: Shape = {
  is: 'struct',
  type: '',
  atomic: false,
  fields: new Map([
    [
      'metadata',
      { name: 'metadata', shape: structOf('ObjectMeta'), required: false, pointer: false, always: false },
    ],
  ]),
  rest: free,
};

/** Returns the name of a built-in kind's type; undefined for others. */
export const typeOf = (kind: Kind): string | undefined => findByKind(apiVersionOf(kind), kind.kind)?.type;

/** Returns the shape of a kind's objects, by which their fields have owners. */
export const shapeOf = (kind: Kind): Shape => {
  const type = typeOf(kind);
  return type === undefined ? custom : structOf(type);
};
