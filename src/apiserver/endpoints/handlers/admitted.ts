import type { AdmissionChain } from '../../admission/chain.ts';
import type { Admissible } from '../../admission/plugin.ts';
import type { Deleted, PendingDelete } from '../../registry/removal.ts';
import type { PendingWrite, Written } from '../../registry/pending-write.ts';
import type { Registry } from '../../registry/registry.ts';
import { conflict } from '../../../apimachinery/status-error.ts';

/** Maximum number of attempts of a write: it restarts if another write happened in between, which needs an asynchronous plug-in. */
const mostAttempts = 50;

/** The admission attributes of a write without its object. */
export interface Request extends Omit<Admissible, 'operation' | 'object' | 'oldObject'> {
  /** Registry of the kind, for objects that a webhook converts; absent: they need no conversion. */
  readonly registry?: Pick<Registry, 'load' | 'strategy'>;
}

/**
 * Admits and stores a write. While every plug-in is synchronous, this is atomic; after an asynchronous one, a write whose object has
 * changed meanwhile restarts.
 *
 * @throws {StatusError}
 */
export async function admitted(
  chain: AdmissionChain,
  request: Request,
  begin: () => PendingWrite,
): Promise<Written> {
  const { warnings } = request.context;
  const conversion = request.registry?.strategy.conversion;
  const before = warnings.length;
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    warnings.length = before;
    if (conversion) await loaded(request);
    const write = begin();
    const { operation, old } = write;
    const admitting = chain.begin({ ...request, operation, ...(old && { oldObject: old }) });
    const mutated = admitting.mutate(write.object);
    const changed = (mutated instanceof Promise ? await mutated : mutated) ?? write.object;
    const finished = write.finish(changed);
    const judged = admitting.validate(write.shown?.(finished) ?? finished);
    if (judged) await judged;
    if (conversion) await conversion.prepare(finished);
    const written = write.commit(finished, admitting.commit);
    if (written) return written;
  }
  throw tooOften(request);
}

/** Converts the stored object of a request where that takes a webhook. */
async function loaded({ registry, namespace, name }: Request): Promise<void> {
  if (name !== '') await registry?.load(namespace, name);
}

/** Admits and performs a deletion. @throws {StatusError} */
export async function admittedDelete(
  chain: AdmissionChain,
  request: Request,
  begin: () => PendingDelete,
): Promise<Deleted> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    if (request.registry?.strategy.conversion) await loaded(request);
    const deletion = begin();
    const admitting = chain.begin({ ...request, operation: 'DELETE', oldObject: deletion.old });
    const mutated = admitting.mutate(undefined);
    if (mutated instanceof Promise) await mutated;
    const judged = admitting.validate(undefined);
    if (judged) await judged;
    const done = deletion.commit();
    if (done) return done;
  }
  throw tooOften(request);
}

/**
 * Admits what is not stored itself: bindings, evictions, token requests, reviews, connections.
 *
 * @returns the object as changed by the plug-ins
 * @throws {StatusError}
 */
export async function admittedAction(
  chain: AdmissionChain,
  action: Admissible,
): Promise<Admissible['object']> {
  const admitting = chain.begin(action);
  const mutated = admitting.mutate(action.object);
  const object = mutated instanceof Promise ? await mutated : mutated;
  const judged = admitting.validate(object);
  if (judged) await judged;
  return object;
}

const tooOften = ({ kind, name }: Request): Error =>
  conflict(
    { kind: kind.resource, name, ...(kind.group && { group: kind.group }) },
    'the object changed again and again while the request was being admitted; please try again',
  );
