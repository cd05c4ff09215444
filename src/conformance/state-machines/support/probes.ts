import type { EventRecorder } from '../../../kube/events.ts';
import type { ProbeAnswer, ProbeHandler, ProbeHandlers } from '../../../prober/prober.ts';
import type { ProbeResult } from '../../../prober/update-pod-status.ts';

/** How recordings spell results. */
export const spelled: Readonly<Record<ProbeResult, string>> = {
  Success: 'Success',
  Failure: 'Failure',
  Unknown: 'UNKNOWN',
};

/** The same answer for any kind of probe. */
export const allHandlers = (handler: ProbeHandler): ProbeHandlers => ({
  exec: handler,
  httpGet: handler,
  tcpSocket: handler,
  grpc: handler,
});

/** What a scripted probe does. */
export function answerFor(outcome: string): ProbeAnswer {
  if (outcome === 'error') throw new Error('probe broke');
  return { outcome: outcome as ProbeAnswer['outcome'], output: 'out' };
}

/** Collects events as `type reason message`. */
export const collectEvents = (events: string[]): EventRecorder => ({
  event: (_object, type, reason, message) => {
    events.push(`${type} ${reason} ${message}`);
  },
});
