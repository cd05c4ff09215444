import { qualifiedNameRule } from '../validation/name-rules.ts';

/** Huge pages of one size, e.g. `hugepages-2Mi`. */
export const isHugePageResource = (name: string): boolean => name.startsWith('hugepages-');

/** A resource of Kubernetes' own: one without a domain, or with one of `kubernetes.io`. */
export const isNativeResource = (name: string): boolean =>
  !name.includes('/') || name.includes('kubernetes.io/');

/** A resource of somebody else's domain that nodes tell of, e.g. `example.com/gpu`. Follows Kubernetes `IsExtendedResourceName`. */
export const isExtendedResource = (name: string): boolean =>
  !isNativeResource(name) &&
  !name.startsWith('requests.') &&
  qualifiedNameRule(`requests.${name}`).length === 0;

/** What a scheduler counts beside cpu, memory, ephemeral storage and pods. Follows Kubernetes `IsScalarResourceName`. */
export const isScalarResource = (name: string): boolean =>
  isHugePageResource(name) ||
  name.includes('kubernetes.io/') ||
  name.startsWith('attachable-volumes-') ||
  isExtendedResource(name);
