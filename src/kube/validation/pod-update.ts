import { ownMember } from '../../base/own.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Container, ObjectMeta, Pod, PodSpec, Toleration } from '../types.ts';
import { type FieldError, type Faults, forbidden, invalid, required } from './field-error.ts';
import { imageSpaces } from './containers.ts';
import { validateMetadataUpdate } from './metadata-update.ts';
import type { PodValidationOptions } from './options.ts';
import { initContainersRestart, metadataAndSpec } from './pod.ts';
import { validateNodeAffinityMutation, validateNodeSelectorMutation } from './gated-pod.ts';
import { validateTolerations } from './scheduling.ts';
import { specDiff } from './spec-diff.ts';

const emptySpec: PodSpec = { containers: [] };
const mostDeadline = 2_147_483_647;

const updatable =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/**
 * Returns every error of an updated pod: the rules for all pods, and immutable fields. Both pods must have defaults. A forbidden change
 * is shown as a diff of the two specs.
 *
 * Follows Kubernetes `ValidatePodUpdate` (pkg/apis/core/validation, v1.36).
 */
export function validatePodUpdate(
  pod: Pod,
  old: Pod,
  options: PodValidationOptions = {},
): readonly FieldError[] {
  return [...update(pod, old, options)];
}

function* update(pod: Pod, old: Pod, options: PodValidationOptions): Faults {
  yield* validateMetadataUpdate('metadata', pod.metadata ?? {}, old.metadata ?? {});
  yield* metadataAndSpec(pod, { ...options, restartingInitContainers: initContainersRestart(old) });
  yield* annotationUpdate('metadata.annotations', pod.metadata ?? {}, old.metadata ?? {});
  yield* specUpdate(pod.spec ?? emptySpec, old.spec ?? emptySpec, options);
}

function* specUpdate(after: PodSpec, before: PodSpec, options: PodValidationOptions): Faults {
  for (const key of ['containers', 'initContainers'] as const) {
    const [next, previous] = [after[key] ?? [], before[key] ?? []];
    if (next.length !== previous.length)
      return yield forbidden(`spec.${key}`, 'pod updates may not add or remove containers');
    yield* images(`spec.${key}`, next);
  }
  const deadline = [...deadlineUpdate('spec.activeDeadlineSeconds', after, before)];
  yield* deadline;
  if (deadline.length > 0 && after.activeDeadlineSeconds !== undefined) return;
  yield* onlyAddedTolerations(after, before, options);
  yield* onlyDeletedGates('spec.schedulingGates', after, before);
  yield* immutableRest(after, before);
}

function* images(field: string, containers: readonly Container[]): Faults {
  for (const [i, container] of containers.entries()) {
    if ((container.image ?? '') === '') yield required(`${field}[${i}].image`);
    yield* imageSpaces(`${field}[${i}]`, container);
  }
}

function* deadlineUpdate(field: string, { activeDeadlineSeconds: after }: PodSpec, before: PodSpec): Faults {
  const old = before.activeDeadlineSeconds;
  if (after === undefined) {
    if (old !== undefined) yield invalid(field, null, 'must not update from a positive integer to nil value');
  } else if (after < 0 || after > mostDeadline)
    yield invalid(field, after, `must be between 0 and ${mostDeadline}, inclusive`);
  else if (old !== undefined && old < after)
    yield invalid(field, after, 'must be less than or equal to previous value');
}

const withoutSeconds = ({ tolerationSeconds: _seconds, ...rest }: Toleration): unknown => rest;

/** Existing tolerations must remain; then all are validated once more, so that such errors occur twice in the causes. */
function* onlyAddedTolerations(after: PodSpec, before: PodSpec, options: PodValidationOptions): Faults {
  const field = 'spec.tolerations';
  const updated = (after.tolerations ?? []).map(withoutSeconds);
  const lost = (before.tolerations ?? []).some(
    (old) => !updated.some((toleration) => isDeepStrictEqual(toleration, withoutSeconds(old))),
  );
  if (lost) yield forbidden(field, 'existing toleration can not be modified except its tolerationSeconds');
  else yield* validateTolerations(field, after.tolerations ?? [], options);
}

function* onlyDeletedGates(field: string, after: PodSpec, before: PodSpec): Faults {
  const oldGates = new Set((before.schedulingGates ?? []).map(({ name }) => name));
  const added = (after.schedulingGates ?? []).map(({ name }) => name).filter((name) => !oldGates.has(name));
  if (added.length === 0) return;
  yield forbidden(field, `only deletion is allowed, but found new scheduling gate '${added[0] ?? ''}'`);
}

const guarded = ['kubernetes.io/config.mirror'];

function* annotationUpdate(field: string, after: ObjectMeta, before: ObjectMeta): Faults {
  for (const key of guarded)
    if (ownMember(after.annotations, key) !== ownMember(before.annotations, key))
      yield forbidden(
        `${field}[${key}]`,
        ownMember(before.annotations, key) === undefined
          ? 'may not add mirror pod annotation'
          : ownMember(after.annotations, key) === undefined
            ? 'may not remove mirror pod annotation'
            : 'may not update mirror pod annotation',
      );
}

/** Checks that all other fields are unchanged; a gated pod may also narrow its placement. */
function* immutableRest(after: PodSpec, before: PodSpec): Faults {
  if (equal(after, before)) return;
  let munged = withUpdatable(after, before);
  if ((before.schedulingGates ?? []).length > 0) {
    if (!equal(munged.nodeSelector, before.nodeSelector)) {
      yield* validateNodeSelectorMutation(
        'spec.nodeSelector',
        munged.nodeSelector ?? {},
        before.nodeSelector ?? {},
      );
      munged = take(munged, before, 'nodeSelector');
    }
    const [updated, had] = [munged.affinity?.nodeAffinity, before.affinity?.nodeAffinity];
    if (!equal(updated, had)) {
      yield* validateNodeAffinityMutation('spec.affinity.nodeAffinity', updated, had);
      munged = withNodeAffinity(munged, before);
    }
  }
  if (equal(munged, before)) return;
  yield forbidden(
    'spec',
    `pod updates may not change fields other than ${updatable}\n${specDiff(before, munged)}`,
  );
}

/** Returns the spec with a field of the other, present or not. */
function take(spec: PodSpec, from: PodSpec, key: keyof PodSpec): PodSpec {
  const { [key]: _own, ...rest } = spec;
  const value = from[key];
  return { ...rest, ...(value !== undefined && { [key]: value }) } as PodSpec;
}

/** Returns the spec with the node affinity of the other; its pod affinity stays. */
function withNodeAffinity(spec: PodSpec, from: PodSpec): PodSpec {
  const { affinity: _affinity, ...rest } = spec;
  const { nodeAffinity: _own, ...pods } = spec.affinity ?? {};
  const nodeAffinity = from.affinity?.nodeAffinity;
  if (!from.affinity && Object.keys(pods).length === 0) return rest;
  return { ...rest, affinity: { ...pods, ...(nodeAffinity && { nodeAffinity }) } };
}

function withUpdatable(after: PodSpec, before: PodSpec): PodSpec {
  let spec = after;
  for (const key of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'] as const)
    spec = take(spec, before, key);
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && after.terminationGracePeriodSeconds === 1)
    spec = take(spec, before, 'terminationGracePeriodSeconds');
  const withImages = (list: readonly Container[], old: readonly Container[]): readonly Container[] =>
    list.map((container, i) => ({ ...container, image: old[i]?.image ?? '' }));
  return {
    ...spec,
    containers: withImages(spec.containers, before.containers),
    ...(spec.initContainers && {
      initContainers: withImages(spec.initContainers, before.initContainers ?? []),
    }),
  };
}

/** True when two values are equal in Kubernetes' terms: absent, empty and zero list or map are the same. */
function equal(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(pruned(a), pruned(b));
}

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(pruned);
  if (typeof value !== 'object' || value === null) return value ?? undefined;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, pruned(inner)] as const)
    .filter(([, inner]) => inner !== undefined && inner !== '' && inner !== false);
  return Object.fromEntries(entries);
}
