import { map, merge, type Observable } from 'rxjs';
import type { ResultUpdate } from '../prober/results.ts';
import type { ProbeManager } from '../prober/probe-manager.ts';
import type { ProbeType } from '../prober/update-pod-status.ts';

/** A changed probe result, and of which kind of probe. */
export interface ProbeUpdate extends ResultUpdate {
  readonly type: ProbeType;
}

const types: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

/** The changes of all three kinds of probes, as the sync loop takes them (R44). */
export const probeUpdates = (probes: Pick<ProbeManager, 'results'>): Observable<ProbeUpdate> =>
  merge(...types.map((type) => probes.results[type].updates.pipe(map((update) => ({ ...update, type })))));
