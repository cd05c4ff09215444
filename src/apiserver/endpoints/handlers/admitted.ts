import type { AdmissionChain } from '../../admission/chain.ts';
import type { Admissible } from '../../admission/plugin.ts';
import type { Deleted, PendingDelete } from '../../registry/removal.ts';
import type { PendingWrite, Written } from '../../registry/registry.ts';
import { conflict } from '../../../apimachinery/status-error.ts';

/** How often a write begins again because another came between: only plug-ins that wait let one do so. */
const mostAttempts = 50;

/** What admission is told of a write besides its object. */
export type Request = Omit<Admissible, 'operation' | 'object' | 'oldObject'>;

/**
 * Takes a write through admission and stores it. As long as every plug-in answers at once nothing else runs in between; after one that waited,
 * a write whose object changed meanwhile begins again.
 *
 * @throws {StatusError}
 */
export async function admitted(
  chain: AdmissionChain,
  request: Request,
  begin: () => PendingWrite,
): Promise<Written> {
  const { warnings } = request.context;
  const before = warnings.length;
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    warnings.length = before;
    const write = begin();
    const { operation, old } = write;
    const admitting = chain.begin({ ...request, operation, ...(old && { oldObject: old }) });
    const mutated = admitting.mutate(write.object);
    const changed = (mutated instanceof Promise ? await mutated : mutated) ?? write.object;
    const finished = write.finish(changed);
    const judged = admitting.validate(finished);
    if (judged) await judged;
    const written = write.commit(finished, admitting.commit);
    if (written) return written;
  }
  throw tooOften(request);
}

/** Takes a deletion through admission and carries it out. @throws {StatusError} */
export async function admittedDelete(
  chain: AdmissionChain,
  request: Request,
  begin: () => PendingDelete,
): Promise<Deleted> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
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
 * Takes what is not stored itself through admission: bindings, evictions, token requests, reviews, connections.
 *
 * @returns the object as the plug-ins leave it
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
