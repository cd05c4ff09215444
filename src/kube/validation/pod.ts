import type { Container, Pod } from '../types.ts';
import { imageSpaces } from './containers.ts';
import { type FieldError, type Faults, forbidden, formatFieldError } from './field-error.ts';
import { validateMetadata, validatePodAnnotations } from './metadata.ts';
import type { PodValidationOptions } from './options.ts';
import { validateProfileAnnotations } from './profile-annotations.ts';
import { validatePodSpec } from './spec.ts';

/**
 * Every fault of a pod that is to be created, in Kubernetes' order and words; empty when it is valid. The pod must be decoded (right JSON
 * types) and have its defaults.
 *
 * Follows Kubernetes `ValidatePodCreate` (pkg/apis/core/validation, v1.36).
 */
export function validatePod(pod: Pod, options: PodValidationOptions = {}): readonly FieldError[] {
  return [...create(pod, options)];
}

/** The faults of a static pod as the kubelet lists them, one text each; the pod has its defaults, node name and source. */
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

/** What holds for every pod, new or changed (Kubernetes `validatePodMetadataAndSpec`). */
export function* metadataAndSpec(pod: Pod, options: PodValidationOptions): Faults {
  yield* validateMetadata('metadata', pod.metadata ?? {});
  yield* validatePodAnnotations('metadata.annotations', pod);
  yield* validatePodSpec(pod, options);
  yield* tokensNeedAccount(pod);
  for (const key of ['containers', 'initContainers'] as const)
    for (const [i, container] of (pod.spec?.[key] ?? ([] as readonly Container[])).entries())
      yield* imageSpaces(`spec.${key}[${i}]`, container);
}

/** Whether a pod has what is not allowed to new ones: an init container that begins anew when it is resized. */
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
