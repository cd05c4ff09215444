import type { KubeList, KubeObject } from '../../kube/types.ts';
import type { DeleteOptions, ListOptions, WatchOptions } from '../client.ts';
import type { Resource } from '../resources.ts';
import type { Query } from './paths.ts';
import type { Priority } from './rate-limiter.ts';

/** Returns the body of a deletion with options. */
export function deleteBody(options: DeleteOptions): { readonly body?: object } {
  const { gracePeriodSeconds, preconditions, propagationPolicy } = options;
  const settings = {
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(preconditions && { preconditions }),
    ...(propagationPolicy && { propagationPolicy }),
    ...(options.dryRun === true && { dryRun: ['All'] }),
  };
  return Object.keys(settings).length > 0
    ? { body: { kind: 'DeleteOptions', apiVersion: 'v1', ...settings } }
    : {};
}

/** Servers in Go write an empty list as `null`: kube-apiserver one of metadata, extension servers any. */
export const withItems = <T extends KubeObject>(list: KubeList<T>): KubeList<T> =>
  (list.items as readonly T[] | null) === null ? { ...list, items: [] } : list;

/** Returns the query of a list. */
export function listQuery(options: ListOptions): Query {
  return {
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    limit: options.limit,
    continue: options.continue,
  };
}

/** Returns the query of a watch. */
export function watchQuery(options: WatchOptions): Query {
  return {
    watch: true,
    ...listQuery(options),
    allowWatchBookmarks: options.allowWatchBookmarks,
    sendInitialEvents: options.sendInitialEvents,
    timeoutSeconds: options.timeoutSeconds,
  };
}

/** Leases and statuses keep the node alive and go first; events go last. */
export function priorityOf(resource: Resource, subresource?: string): Priority {
  if (resource.resource === 'leases' || subresource === 'status') return 0;
  return resource.resource === 'events' ? 2 : 1;
}
