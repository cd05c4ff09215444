import type { JsonObject } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { forbidden } from '../../apimachinery/status-error.ts';
import { admittedName } from '../storage/names.ts';
import type { WriteContext } from '../request/write-context.ts';

/** The operation of a request, as admission sees it. */
export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** Controls whether the plug-ins run a second time, after a late one has changed the object. */
export interface Reinvocation {
  /** True in the second run. */
  readonly again: boolean;
  /** Requests a second run of every plug-in; has no effect in the second run. */
  request(): void;
}

/** One write or connection to admit. */
export interface Attributes {
  readonly operation: Operation;
  /** Kind of the requested resource. */
  readonly kind: Kind;
  /** `''` for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** `''` for a new object whose name is to be generated. */
  readonly name: string;
  /** True for one of the deletions of a collection: webhooks are sent no name for it. */
  readonly ofCollection?: boolean;
  /** The object to write; for subresources that act (`eviction`, `token`) their own body; for `CONNECT` its options; absent for `DELETE`. */
  readonly object?: JsonObject;
  /** The stored object, for `UPDATE` and `DELETE`. */
  readonly oldObject?: JsonObject;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions of the request. */
  readonly options: JsonObject;
  /** User, time and dry run of the write; collects warnings and audit annotations. */
  readonly context: WriteContext;
  readonly reinvocation: Reinvocation;
  /**
   * Registers an effect of the write: it runs right before the object is stored, may reject it by throwing, and never runs in a dry run.
   */
  readonly onCommit: (effect: () => void) => void;
}

/** Attributes of one request, without the members that belong to a run of the chain. */
export type Admissible = Omit<Attributes, 'reinvocation' | 'onCommit'>;

export type MaybePromise<T> = T | Promise<T>;

/**
 * One admission plug-in, named as in kube-apiserver's `--disable-admission-plugins`. Both steps may be asynchronous; a write whose object
 * changed while a plug-in was waiting begins again. Plug-ins refuse by throwing a StatusError and never change what they are given.
 *
 * @example
 * const named: AdmissionPlugin = {
 *   name: 'RequireOwner',
 *   handles: (operation, kind, subresource) => operation === 'CREATE' && kind.resource === 'pods' && subresource === '',
 *   validate(attributes) {
 *     if (stringAt(objectAt(metadataOf(attributes.object), 'labels'), 'owner') === '') throw refusal(attributes, 'label "owner" is missing');
 *   },
 * };
 */
export interface AdmissionPlugin {
  readonly name: string;
  /** Reports whether the plug-in handles such requests; called once for each combination. */
  handles(operation: Operation, kind: Kind, subresource: string): boolean;
  /** Returns the changed object, before it is prepared and validated; undefined: unchanged. @throws {StatusError} */
  admit?(attributes: Attributes): MaybePromise<JsonObject | undefined>;
  /** Validates the object in the form that will be stored. @throws {StatusError} */
  validate?(attributes: Attributes): MaybePromise<void>;
}

/** Returns the 403 of a plug-in. Follows apiserver `admission.NewForbidden`. */
export function refusal({ kind, name, object }: Admissible, why: string): Error {
  const { resource, group } = kind;
  const shown = name || admittedName(object);
  return forbidden({ kind: resource, name: shown, ...(group !== '' && { group }) }, why);
}

/** Reports whether a request is about this resource itself, not a subresource. */
export const isResource = (kind: Kind, resource: string, group = ''): boolean =>
  kind.resource === resource && kind.group === group;
