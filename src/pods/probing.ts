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

/** Makes the prober with the four kinds of probes: over the network, and exec through the provider. */
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

/** A changed probe result, with the type of the probe. */
export interface ProbeUpdate extends ResultUpdate {
  readonly type: ProbeType;
}

const types: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

/** The changed results of all probe types, as inputs of the sync loop (R44). */
export const probeUpdates = (probes: Pick<ProbeManager, 'results'>): Observable<ProbeUpdate> =>
  merge(...types.map((type) => probes.results[type].updates.pipe(map((update) => ({ ...update, type })))));
