import { AgentError } from '../../base/errors.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { isKnownType } from '../../apimachinery/api-types.ts';
import { findByKind } from '../../apimachinery/kinds.ts';
import { createMergePatch, createStrategicPatch } from '../../apimachinery/patch/create-patch.ts';
import { cloneJson, jsonOf } from '../json-value.ts';
import type { KubeObject, Patch } from '../types.ts';

/**
 * Returns a JSON merge patch from `original` to the object that `patch()` receives. `original` is copied: the same object may be changed
 * and passed to `patch()`.
 *
 * @example
 * const patch = mergeFrom(pod);
 * pod.metadata.labels = { ...pod.metadata.labels, seen: 'true' };
 * await client.patch(kinds.Pod, pod, patch);
 */
export function mergeFrom(original: KubeObject): Patch {
  const before = cloneJson(jsonOf(original));
  return { type: 'merge', data: (object) => difference(before, object) };
}

/**
 * Returns a patch like {@link mergeFrom} that the server rejects (409) when the object has changed since `original` was read.
 *
 * @example
 * await client.patch(kinds.Pod, changed, mergeFromWithOptimisticLock(pod)); // fails when the pod was changed meanwhile
 */
export function mergeFromWithOptimisticLock(original: KubeObject): Patch {
  const before = cloneJson(jsonOf(original));
  return { type: 'merge', data: (object) => locked(difference(before, object), original, versionOf(before)) };
}

/**
 * Returns a strategic merge patch from `original` to the object that `patch()` receives: lists such as the containers of a pod are patched
 * item by item. Only for built-in kinds; custom resources have no strategic merge patch.
 *
 * @example
 * await client.patch(kinds.Pod, changed, strategicMergeFrom(pod));
 */
export function strategicMergeFrom(
  original: KubeObject,
  options: { readonly optimisticLock?: boolean } = {},
): Patch {
  const before = cloneJson(jsonOf(original));
  return {
    type: 'strategic',
    data: (object) => {
      const { apiVersion = '', kind = '' } = object;
      const type = findByKind(apiVersion, kind)?.type;
      if (type === undefined || !isKnownType(type))
        throw new AgentError(
          'invalid_argument',
          `strategicMergeFrom: ${apiVersion} ${kind} is no built-in kind; use mergeFrom`,
        );
      const patch = createStrategicPatch(sameNames(before, object), cloneJson(jsonOf(object)), type);
      return options.optimisticLock === true ? locked(patch, original, versionOf(before)) : patch;
    },
  };
}

/**
 * Returns a patch with a body of your own.
 *
 * @example
 * await client.patch(kinds.Pod, pod, rawPatch('json', [{ op: 'remove', path: '/metadata/labels/seen' }]));
 */
export const rawPatch = (type: Patch['type'], body: object | string): Patch => ({ type, data: () => body });

/** A patch that performs a server-side apply, and a function that returns one with a configuration of its own. */
export type ApplyConfigurationPatch = Patch & ((configuration: KubeObject) => Patch);

/**
 * A server-side apply as a patch: of the object that `patch()` receives, or as a function of a configuration of its own. `client.apply` does
 * the same in one call.
 *
 * @example
 * await client.patch(kinds.ConfigMap, config, applyConfiguration, { fieldOwner: 'demo', force: true });
 */
export const applyConfiguration: ApplyConfigurationPatch = Object.assign(
  (configuration: KubeObject): Patch => ({ type: 'apply', data: () => configuration }),
  { type: 'apply' as const, data: (object: KubeObject): object => object },
);

function difference(before: JsonObject, object: KubeObject): JsonObject {
  return createMergePatch(sameNames(before, object), cloneJson(jsonOf(object)));
}

/** Gives `before` the kind and version of `object`, so that they are not part of the patch. */
const sameNames = (before: JsonObject, { apiVersion, kind }: KubeObject): JsonObject => ({
  ...before,
  apiVersion,
  kind,
});

const versionOf = (before: JsonObject): string => (before as KubeObject).metadata?.resourceVersion ?? '';

function locked(patch: JsonObject, original: KubeObject, resourceVersion: string): JsonObject {
  if (resourceVersion === '')
    throw new AgentError(
      'invalid_argument',
      `a patch with an optimistic lock needs metadata.resourceVersion of the original${original.metadata?.name === undefined ? '' : ` ${original.metadata.name}`}: read the object first`,
    );
  return { ...patch, metadata: { ...(patch['metadata'] as object | undefined), resourceVersion } };
}
