import { isNotFound } from '../../api/client.ts';
import { controllerManagedBy } from '../../controller/builder.ts';
import { kinds } from '../../controller/kinds.ts';
import type { ControllerContext } from '../context.ts';
import { isDeleted, uidOf } from '../workload/objects.ts';
import type { Job } from '../workload/types.ts';
import { conditionOf } from './job-conditions.ts';

/** Returns when a finished Job is to be deleted, ms; undefined: not by its age. */
export function expiryOf(job: Job): number | undefined {
  const ttl = job.spec?.ttlSecondsAfterFinished;
  const finished = conditionOf(job, 'Complete') ?? conditionOf(job, 'Failed');
  if (ttl === undefined || finished?.lastTransitionTime === undefined) return undefined;
  return Date.parse(finished.lastTransitionTime) + ttl * 1000;
}

/** Starts the controller that deletes finished Jobs after their `ttlSecondsAfterFinished`. */
export function addTtlAfterFinished({ manager, clock }: ControllerContext): void {
  const { client, apiReader } = manager;
  controllerManagedBy(manager)
    .named('ttl-after-finished-controller')
    .for(kinds.Job)
    .complete(async (key, { signal }) => {
      try {
        const expiry = expiryOf(await client.get(kinds.Job, key, { signal }));
        if (expiry === undefined) return undefined;
        const left = expiry - clock.now();
        if (left > 0) return { requeueAfter: left };
        // its TTL may have been changed meanwhile
        const job = await apiReader.get(kinds.Job, key, { signal });
        if (isDeleted(job) || (expiryOf(job) ?? Infinity) > clock.now()) return undefined;
        const preconditions = { uid: uidOf(job) };
        await client.delete(kinds.Job, job, { propagationPolicy: 'Foreground', preconditions, signal });
      } catch (reason) {
        if (!isNotFound(reason)) throw reason;
      }
      return undefined;
    });
}
