import type { Container, Pod } from '../types.ts';
import { imageSpaces } from './containers.ts';
import { type FieldError, type Faults, forbidden, formatFieldError } from './field-error.ts';
import { validateMetadata, validatePodAnnotations } from './metadata.ts';
import type { PodValidationOptions } from './options.ts';
import { validateProfileAnnotations } from './profile-annotations.ts';
import { validatePodSpec } from './spec.ts';

/**
 * Returns every error of a pod to be created, in Kubernetes' order and words; empty when it is valid. The pod must be decoded (correct JSON
 * types) and have defaults.
 *
 * Follows Kubernetes `ValidatePodCreate` (pkg/apis/core/validation, v1.36).
 */
export function validatePod(pod: Pod, options: PodValidationOptions = {}): readonly FieldError[] {
  return [...create(pod, options)];
}

/** Returns the errors of a static pod as the kubelet lists them; the pod must have defaults, node name and source. */
export const staticPodFaults = (pod: Pod, options: PodValidationOptions = {}): readonly string[] =>
  validatePod(pod, { imageReferenceRequired: false, ...options }).map(formatFieldError);

function* create(pod: Pod, options: PodValidationOptions): Faults {
  yield* metadataAndSpec(pod, options);
  const { ephemeralContainers = [], nodeName = '', schedulingGates = [] } = pod.spec ?? {};
  if (ephemeralContainers.length > 0) yield forbidden('spec.ephemeralContainers', 'cannot be set on create');
  if (nodeName !== '' && schedulingGates.length > 0)
    yield forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
  yield* validateProfileAnnotations(pod);
}

/** Validates what applies to every pod, new or updated (Kubernetes `validatePodMetadataAndSpec`). */
export function* metadataAndSpec(pod: Pod, options: PodValidationOptions): Faults {
  yield* validateMetadata('metadata', pod.metadata ?? {});
  yield* validatePodAnnotations('metadata.annotations', pod);
  yield* validatePodSpec(pod, options);
  yield* tokensNeedAccount(pod);
  for (const key of ['containers', 'initContainers'] as const)
    for (const [i, container] of (pod.spec?.[key] ?? ([] as readonly Container[])).entries())
      yield* imageSpaces(`spec.${key}[${i}]`, container);
}

/** True when an existing pod has a regular init container with a resize restart policy, which new pods may not have. */
export const initContainersRestart = (pod: Pod): boolean =>
  (pod.spec?.initContainers ?? []).some(
    ({ restartPolicy, resizePolicy = [] }) =>
      restartPolicy !== 'Always' &&
      resizePolicy.some((policy) => policy.restartPolicy === 'RestartContainer'),
  );

function* tokensNeedAccount(pod: Pod): Faults {
  if ((pod.spec?.serviceAccountName ?? '') !== '') return;
  for (const [i, { projected }] of (pod.spec?.volumes ?? []).entries())
    for (const [j, { serviceAccountToken }] of (projected?.sources ?? []).entries())
      if (serviceAccountToken)
        yield forbidden(
          `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`,
          'must not be specified when serviceAccountName is not set',
        );
}
