import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../apimachinery/json.ts';
import { labelMatcher } from '../../apimachinery/selectors.ts';
import { type LabelSelector, labelSelectorMatches } from '../../kube/label-selector.ts';
import type { CreateEvent, DeleteEvent, GenericEvent, UpdateEvent } from '../handler/event.ts';
import type { KubeObject } from '../types.ts';

/** Predicate decides which events reach a handler. */
export interface Predicate<T extends KubeObject = KubeObject> {
  // methods, so that a predicate of any object serves for each kind
  create(event: CreateEvent<T>): boolean;
  update(event: UpdateEvent<T>): boolean;
  delete(event: DeleteEvent<T>): boolean;
  generic(event: GenericEvent<T>): boolean;
}

/**
 * Returns a predicate of functions by event, which lets events without a function pass; or of one function of the object, for an update of
 * its new state.
 *
 * @example
 * predicateFuncs((pod) => pod.metadata?.namespace === 'default');
 * predicateFuncs({ delete: () => false });
 */
export function predicateFuncs<T extends KubeObject = KubeObject>(
  functions: Partial<Predicate<T>> | ((object: T) => boolean),
): Predicate<T> {
  if (typeof functions !== 'function')
    return {
      create: (event) => functions.create?.(event) ?? true,
      update: (event) => functions.update?.(event) ?? true,
      delete: (event) => functions.delete?.(event) ?? true,
      generic: (event) => functions.generic?.(event) ?? true,
    };
  return {
    create: ({ object }) => functions(object),
    update: ({ objectNew }) => functions(objectNew),
    delete: ({ object }) => functions(object),
    generic: ({ object }) => functions(object),
  };
}

/** A predicate that is used as a value or called. */
type NamedPredicate = Predicate & (() => Predicate);

/** Returns a predicate of updates by what they change; other events pass. */
function changed(isChange: (before: KubeObject, after: KubeObject) => boolean): NamedPredicate {
  const predicate = predicateFuncs({
    // an event may lack an object when a test or a source of the user's made it
    update: ({ objectOld, objectNew }: Partial<UpdateEvent>) =>
      objectOld?.metadata !== undefined &&
      objectNew?.metadata !== undefined &&
      isChange(objectOld, objectNew),
  });
  return Object.assign(() => predicate, predicate);
}

/** Lets updates pass that change `metadata.resourceVersion`: all but resyncs. */
export const resourceVersionChanged: NamedPredicate = changed(
  (before, after) => before.metadata?.resourceVersion !== after.metadata?.resourceVersion,
);

/** Lets updates pass that change `metadata.generation`: the spec, not metadata or status. */
export const generationChanged: NamedPredicate = changed(
  (before, after) => before.metadata?.generation !== after.metadata?.generation,
);

/** Lets updates pass that change a label. */
export const labelChanged: NamedPredicate = changed(
  (before, after) => !isDeepStrictEqual(before.metadata?.labels ?? {}, after.metadata?.labels ?? {}),
);

/** Lets updates pass that change an annotation. */
export const annotationChanged: NamedPredicate = changed(
  (before, after) =>
    !isDeepStrictEqual(before.metadata?.annotations ?? {}, after.metadata?.annotations ?? {}),
);

function combined<T extends KubeObject>(
  combine: (passes: (predicate: Predicate<T>) => boolean) => boolean,
): Predicate<T> {
  return {
    create: (event) => combine((predicate) => predicate.create(event)),
    update: (event) => combine((predicate) => predicate.update(event)),
    delete: (event) => combine((predicate) => predicate.delete(event)),
    generic: (event) => combine((predicate) => predicate.generic(event)),
  };
}

/**
 * Lets events pass that all predicates let pass.
 *
 * @example
 * const predicate = and(generationChanged(), matchesLabels({ app: 'web' }));
 */
export const and = <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  combined((passes) => predicates.every(passes));

/**
 * Lets events pass that at least one predicate lets pass.
 *
 * @example
 * const predicate = or(generationChanged(), annotationChanged());
 */
export const or = <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  combined((passes) => predicates.some(passes));

/**
 * Lets events pass that the predicate does not let pass.
 *
 * @example
 * const predicate = not(matchesLabels({ tier: 'system' }));
 */
export const not = <T extends KubeObject>(predicate: Predicate<T>): Predicate<T> =>
  combined((passes) => !passes(predicate));

/**
 * Lets events pass whose object matches a label selector: as in the API, as text, or labels that must all be equal. Follows
 * controller-runtime's `LabelSelectorPredicate`.
 *
 * @throws when the selector is not valid
 *
 * @example
 * controllerManagedBy(manager).for(kinds.Pod, { predicates: [matchesLabels('app in (web, db)')] });
 */
export function matchesLabels(
  selector: LabelSelector | Readonly<Record<string, string>> | string,
): Predicate {
  if (typeof selector !== 'string') {
    const full = isSelector(selector) ? selector : { matchLabels: selector };
    return predicateFuncs(({ metadata }) => labelSelectorMatches(full, metadata?.labels));
  }
  const matches = labelMatcher(selector);
  return predicateFuncs((object) => matches(object as JsonObject));
}

const isSelector = (selector: LabelSelector | Readonly<Record<string, string>>): selector is LabelSelector =>
  Object.values(selector).every((value) => typeof value === 'object');
