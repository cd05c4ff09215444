import { EventQueue } from '../queue/event-queue.ts';
import { lowPriority, type RequestQueue } from '../queue/priority-queue.ts';
import type { Kind, KubeObject, ObjectMeta, Request } from '../types.ts';
import type { CreateEvent, DeleteEvent, GenericEvent, UpdateEvent } from './event.ts';

/**
 * EventHandler turns events into requests. What a method that returns a promise adds to the queue before the promise resolves counts as part
 * of the event: a controller starts its workers after the whole first list has been handled.
 */
export interface EventHandler<T extends KubeObject = KubeObject> {
  // methods, so that a handler of any object serves for each kind
  create(event: CreateEvent<T>, queue: RequestQueue): void | Promise<void>;
  update(event: UpdateEvent<T>, queue: RequestQueue): void | Promise<void>;
  delete(event: DeleteEvent<T>, queue: RequestQueue): void | Promise<void>;
  generic(event: GenericEvent<T>, queue: RequestQueue): void | Promise<void>;
}

const versionOf = (object: KubeObject): string | undefined => object.metadata?.resourceVersion;

/** True for an update that changes nothing: a resync. */
export const isResync = ({ objectOld, objectNew }: UpdateEvent): boolean =>
  versionOf(objectOld) !== undefined && versionOf(objectOld) === versionOf(objectNew);

/**
 * Returns the handler with low priority for what is not news: objects of the first list, and resyncs.
 *
 * @example
 * const handler = withLowPriorityWhenUnchanged(enqueueRequestForObject());
 */
export function withLowPriorityWhenUnchanged<T extends KubeObject>(
  handler: EventHandler<T>,
): EventHandler<T> {
  return {
    create: (event, queue) =>
      handler.create(event, event.isInInitialList ? EventQueue.withPriority(queue, lowPriority) : queue),
    update: (event, queue) =>
      handler.update(event, isResync(event) ? EventQueue.withPriority(queue, lowPriority) : queue),
    delete: (event, queue) => handler.delete(event, queue),
    generic: (event, queue) => handler.generic(event, queue),
  };
}

/**
 * Returns a handler of functions; events without a function are ignored. Objects of the first list and resyncs get a low priority unless
 * the function states one.
 *
 * @example
 * const handler = handlerFuncs({ delete: ({ object }, queue) => queue.add(requestOf(object)) });
 */
export function handlerFuncs<T extends KubeObject = KubeObject>(
  functions: Partial<EventHandler<T>>,
): EventHandler<T> {
  return withLowPriorityWhenUnchanged<T>({
    create: (event, queue) => functions.create?.(event, queue),
    update: (event, queue) => functions.update?.(event, queue),
    delete: (event, queue) => functions.delete?.(event, queue),
    generic: (event, queue) => functions.generic?.(event, queue),
  });
}

const sameRequest = (one: Request, other: Request): boolean =>
  one.name === other.name && one.namespace === other.namespace;

/** Handles each event of an object, and both states of an update, with the requests that `map` derives; each request is added once. */
function mapped<T extends KubeObject>(
  map: (object: T) => readonly Request[] | Promise<readonly Request[]>,
): EventHandler<T> {
  const addAll = (queue: RequestQueue, requests: readonly Request[]): void => {
    const unique = requests.filter(
      (request, at) => requests.findIndex((other) => sameRequest(request, other)) === at,
    );
    queue.addWithOpts({}, ...unique);
  };
  const handle = (queue: RequestQueue, ...objects: readonly (T | undefined)[]): void | Promise<void> => {
    const now: Request[] = [];
    const later: Promise<readonly Request[]>[] = [];
    for (const object of objects) {
      const result = object === undefined ? [] : map(object);
      if (result instanceof Promise) later.push(result);
      else now.push(...result);
    }
    if (later.length > 0)
      return Promise.all(later).then((all) => {
        addAll(queue, [...now, ...all.flat()]);
      });
    addAll(queue, now);
    return undefined;
  };
  return withLowPriorityWhenUnchanged({
    create: (event, queue) => handle(queue, event.object),
    update: (event, queue) => handle(queue, event.objectOld, event.objectNew),
    delete: (event, queue) => handle(queue, event.object),
    generic: (event, queue) => handle(queue, event.object),
  });
}

/**
 * Returns a handler that asks for the requests that `map` derives from an object; for an update, from the old and the new state.
 *
 * @example
 * const handler = enqueueRequestsFromMapFunc<V1ConfigMap>(({ metadata }) => [{ namespace: metadata.namespace, name: metadata.labels.room }]);
 */
export const enqueueRequestsFromMapFunc = <T extends KubeObject>(
  map: (object: T) => readonly Request[] | Promise<readonly Request[]>,
): EventHandler<T> => mapped(map);

const addObject = ({ metadata }: KubeObject, queue: RequestQueue): void => {
  if (metadata?.name !== undefined) queue.add({ namespace: metadata.namespace ?? '', name: metadata.name });
};

const forObject: EventHandler = withLowPriorityWhenUnchanged({
  create: ({ object }, queue) => {
    addObject(object, queue);
  },
  update: ({ objectNew }, queue) => {
    addObject(objectNew, queue);
  },
  delete: ({ object }, queue) => {
    addObject(object, queue);
  },
  generic: ({ object }, queue) => {
    addObject(object, queue);
  },
});

/** A handler that asks for the object of the event itself; as a value or called. */
export const enqueueRequestForObject: EventHandler & (() => EventHandler) = Object.assign(
  () => forObject,
  forObject,
);

const groupOf = (apiVersion: string): string | undefined => {
  const parts = apiVersion.split('/');
  if (parts.length > 2 || parts.includes('')) return undefined;
  return parts.length === 2 ? parts[0] : '';
};

/**
 * Returns a handler that asks for the owners of the event's object that have this kind, in any version.
 *
 * @param options `onlyController`: only the owner that is the controller
 *
 * @example
 * controllerManagedBy(manager).for(Room).watches(kinds.Pod, enqueueRequestForOwner(Room, { onlyController: true }));
 */
export function enqueueRequestForOwner(
  ownerKind: Kind,
  options: { readonly onlyController?: boolean } = {},
): EventHandler {
  const owners = (metadata: ObjectMeta): readonly { apiVersion: string; kind: string; name: string }[] => {
    const references = metadata.ownerReferences ?? [];
    return options.onlyController
      ? references.filter((reference) => reference.controller === true).slice(0, 1)
      : references;
  };
  return mapped((object: KubeObject) =>
    owners(object.metadata ?? {})
      .filter(({ apiVersion, kind }) => kind === ownerKind.kind && groupOf(apiVersion) === ownerKind.group)
      .map(({ name }) => ({
        namespace: ownerKind.namespaced ? (object.metadata?.namespace ?? '') : '',
        name,
      })),
  );
}
