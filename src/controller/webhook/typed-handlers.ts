import type { Logger } from '../../base/logger.ts';
import { cloneJson } from '../json-value.ts';
import type { Kind, KubeObject } from '../types.ts';
import {
  type AdmissionContext,
  type AdmissionHandler,
  type AdmissionOptions,
  AdmissionWebhook,
} from './admission.ts';
import { checkedObject } from './decoder.ts';
import { isPristine, pristineRequest } from './pristine.ts';
import { allowed, errored, patched, withWarnings } from './responses.ts';
import type { AdmissionRequest, AdmissionResponse } from './review.ts';

/** What defaulters and validators work with besides the object. */
export interface TypedContext extends AdmissionContext {
  readonly request: AdmissionRequest;
}

/* eslint-disable @typescript-eslint/no-invalid-void-type -- a handler need not return anything */
/** DefaultFunc sets the defaults of an object: it writes to the object, or returns another one. What it throws refuses the request. */
export type DefaultFunc<T extends KubeObject> = (
  object: T,
  context: TypedContext,
) => T | undefined | void | Promise<T | undefined | void>;

/** Warnings for the user of the request. */
export type Warnings = readonly string[] | undefined | void;
/* eslint-enable @typescript-eslint/no-invalid-void-type */

/** Validator decides on the objects of one kind. What a function throws refuses the request; an operation without a function is admitted. */
export interface Validator<T extends KubeObject> {
  readonly create?: (object: T, context: TypedContext) => Warnings | Promise<Warnings>;
  readonly update?: (oldObject: T, object: T, context: TypedContext) => Warnings | Promise<Warnings>;
  readonly delete?: (object: T, context: TypedContext) => Warnings | Promise<Warnings>;
}

/**
 * Returns a mutating webhook that sets the defaults of one kind. The answer is the difference to the object that was received, so members
 * that the type does not declare are kept.
 *
 * @example
 * defaulter(CronTab, (cronTab) => { cronTab.spec.replicas ??= 1; })
 */
export const defaulter = <T extends KubeObject>(
  kind: Kind<T>,
  setDefaults: DefaultFunc<T> | { readonly default: DefaultFunc<T> },
  options?: AdmissionOptions,
): AdmissionWebhook =>
  new AdmissionWebhook(
    'mutating',
    decoding(async (request, context) => {
      if (request.operation === 'DELETE' || request.operation === 'CONNECT') return allowed();
      const original = checkedObject(request.object, kind);
      const object = cloneJson(original);
      const fill = typeof setDefaults === 'function' ? setDefaults : setDefaults.default.bind(setDefaults);
      return () =>
        Promise.resolve(fill(object, context)).then((result) => patched(original, result ?? object));
    }),
    options,
  );

/**
 * Returns a validating webhook for one kind.
 *
 * @example
 * validator(CronTab, {
 *   create: ({ spec }) => { if (spec.replicas > 9) throw new Error('spec.replicas: at most 9'); },
 *   update: (before, after) => (before.spec.image === after.spec.image ? [] : ['changing the image restarts all jobs']),
 * })
 */
export const validator = <T extends KubeObject>(
  kind: Kind<T>,
  functions: Validator<T>,
  options?: AdmissionOptions,
): AdmissionWebhook =>
  new AdmissionWebhook(
    'validating',
    decoding(async (request, context) => {
      const check = checkOf(kind, functions, request);
      return async () => {
        const warnings = await check(context);
        return withWarnings(allowed(), ...(warnings ?? []));
      };
    }),
    options,
  );

/** Returns the check of a request with its objects decoded. @throws {AgentError} `invalid_argument` for objects of another kind */
function checkOf<T extends KubeObject>(
  kind: Kind<T>,
  functions: Validator<T>,
  request: AdmissionRequest,
): (context: TypedContext) => Warnings | Promise<Warnings> {
  const admit = (): Warnings => undefined;
  switch (request.operation) {
    case 'CREATE': {
      const object = ownObject(request, request.object, kind);
      return (context) => functions.create?.(object, context);
    }
    case 'UPDATE': {
      const before = ownObject(request, request.oldObject, kind);
      const after = ownObject(request, request.object, kind);
      return (context) => functions.update?.(before, after, context);
    }
    case 'DELETE': {
      // a deletion has only the stored object
      const object = ownObject(request, request.oldObject, kind);
      return (context) => functions.delete?.(object, context);
    }
    default:
      return admit;
  }
}

/** Returns an object for a handler: that of a request that was received is its own, any other is copied. */
const ownObject = <T extends KubeObject>(
  request: AdmissionRequest,
  object: KubeObject | undefined,
  kind: Kind<T>,
): T => {
  const found = checkedObject(object, kind);
  return isPristine(request) ? found : cloneJson(found);
};

/** The context of a typed handler. The handler gets the objects of the request; the request with others of its own is made if it asks. */
class Context implements TypedContext {
  readonly #context: AdmissionContext;
  readonly #received: AdmissionRequest;
  #request: AdmissionRequest | undefined;

  constructor(context: AdmissionContext, received: AdmissionRequest) {
    this.#context = context;
    this.#received = received;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get logger(): Logger {
    return this.#context.logger;
  }

  get request(): AdmissionRequest {
    this.#request ??= pristineRequest(this.#received);
    return this.#request;
  }
}

/** Separates what is wrong with the request (400) from what the handler throws (a refusal). */
const decoding =
  (
    prepare: (
      request: AdmissionRequest,
      context: TypedContext,
    ) => Promise<AdmissionResponse | (() => Promise<AdmissionResponse>)>,
  ): AdmissionHandler =>
  async (request, context) => {
    let prepared;
    try {
      prepared = await prepare(request, new Context(context, request));
    } catch (reason) {
      return errored(400, reason);
    }
    return typeof prepared === 'function' ? prepared() : prepared;
  };
