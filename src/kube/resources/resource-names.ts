import { qualifiedNameRule } from '../validation/name-rules.ts';

/** True for huge pages of one size, such as `hugepages-2Mi`. */
export const isHugePageResource = (name: string): boolean => name.startsWith('hugepages-');

/** True for Kubernetes' own resources: without a domain, or with `kubernetes.io`. */
export const isNativeResource = (name: string): boolean =>
  !name.includes('/') || name.includes('kubernetes.io/');

/** True for extended resources of other domains, such as `example.com/gpu`. Follows Kubernetes `IsExtendedResourceName`. */
export const isExtendedResource = (name: string): boolean =>
  !isNativeResource(name) &&
  !name.startsWith('requests.') &&
  qualifiedNameRule(`requests.${name}`).length === 0;

/** True for resources that schedulers count besides cpu, memory, ephemeral storage and pods. Follows Kubernetes `IsScalarResourceName`. */
export const isScalarResource = (name: string): boolean =>
  isHugePageResource(name) ||
  name.includes('kubernetes.io/') ||
  name.startsWith('attachable-volumes-') ||
  isExtendedResource(name);
