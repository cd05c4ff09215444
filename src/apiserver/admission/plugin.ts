import type { JsonObject } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { forbidden } from '../../apimachinery/status-error.ts';
import { admittedName } from '../storage/names.ts';
import type { WriteContext } from '../request/write-context.ts';

/** What a request does, in the words of admission. */
export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** Whether the plug-ins run a second time, after one that runs late has changed the object. */
export interface Reinvocation {
  /** True in the second run. */
  readonly again: boolean;
  /** Asks for a second run of every plug-in; without effect in the second run. */
  request(): void;
}

/** One write or connection that is to be admitted. */
export interface Attributes {
  readonly operation: Operation;
  /** Kind of the resource that the request is addressed to. */
  readonly kind: Kind;
  /** `''` for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** `''` for a new object whose name is to be generated. */
  readonly name: string;
  /** What is to be written; for subresources that act (`eviction`, `token`) their own body, for `DELETE` and `CONNECT` nothing. */
  readonly object?: JsonObject;
  /** What stands, for `UPDATE` and `DELETE`. */
  readonly oldObject?: JsonObject;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions of the request. */
  readonly options: JsonObject;
  /** Who writes, when, whether it is a dry run; takes warnings and audit annotations. */
  readonly context: WriteContext;
  readonly reinvocation: Reinvocation;
  /** Registers work that belongs to the write: it runs right before the object is stored, may refuse it by throwing, and never runs in a dry run. */
  readonly onCommit: (effect: () => void) => void;
}

/** Attributes of one request, before the chain adds what belongs to its run. */
export type Admissible = Omit<Attributes, 'reinvocation' | 'onCommit'>;

type MaybePromise<T> = T | Promise<T>;

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
  /** Whether the plug-in is called for such requests; asked once for each combination. */
  handles(operation: Operation, kind: Kind, subresource: string): boolean;
  /** Returns the object as it is to be written on, before it is prepared and validated; nothing: unchanged. @throws {StatusError} */
  admit?(attributes: Attributes): MaybePromise<JsonObject | undefined>;
  /** Looks at the object in the form that will be stored. @throws {StatusError} */
  validate?(attributes: Attributes): MaybePromise<void>;
}

/** The 403 of a plug-in. Follows apiserver `admission.NewForbidden`. */
export function refusal({ kind, name, object }: Admissible, why: string): Error {
  const { resource, group } = kind;
  const shown = name || admittedName(object);
  return forbidden({ kind: resource, name: shown, ...(group !== '' && { group }) }, why);
}

/** Whether a request is about the resource itself, of this name and group, and not about a subresource. */
export const isResource = (kind: Kind, resource: string, group = ''): boolean =>
  kind.resource === resource && kind.group === group;
