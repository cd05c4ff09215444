import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import { expandAll } from '../kube/expansion.ts';
import { execProbe } from '../prober/exec-probe.ts';
import { grpcProbe } from '../prober/grpc-probe.ts';
import { httpProbe } from '../prober/http-probe.ts';
import { Prober } from '../prober/prober.ts';
import { tcpProbe } from '../prober/tcp-probe.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { ResultUpdate } from '../prober/results.ts';
import type { ProbeType } from '../prober/update-pod-status.ts';
import type { ProbeManager } from '../prober/probe-manager.ts';
import { type Observable, merge, map } from 'rxjs';

/** The four kinds of probes over real networks and the provider's own exec. */
export function makeProber(
  clock: Clock,
  provider: Pick<PodProvider, 'execSync'>,
  recorder: EventRecorder,
): Prober {
  const exec = execProbe({
    execSync: async (container, command, timeoutMs) => {
      if (!provider.execSync)
        throw new AgentError('unimplemented', 'this provider cannot run commands in containers');
      return provider.execSync(container, command, timeoutMs);
    },
    expand: (command, container) => {
      const values = new Map((container.env ?? []).map(({ name, value }) => [name, value ?? '']));
      return expandAll(command, (name) => values.get(name));
    },
  });
  return new Prober(
    { exec, httpGet: httpProbe(clock), tcpSocket: tcpProbe(clock), grpc: grpcProbe(clock) },
    recorder,
  );
}

/** A changed probe result, and of which kind of probe. */
export interface ProbeUpdate extends ResultUpdate {
  readonly type: ProbeType;
}

const types: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

/** The changes of all three kinds of probes, as the sync loop takes them (R44). */
export const probeUpdates = (probes: Pick<ProbeManager, 'results'>): Observable<ProbeUpdate> =>
  merge(...types.map((type) => probes.results[type].updates.pipe(map((update) => ({ ...update, type })))));
