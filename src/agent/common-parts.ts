import { EventBroadcaster } from '../api/events/event-recorder.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { AgentOptions } from './agent-options.ts';

/** The dependencies that all subsystems of an agent share. */
export interface CommonParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

const silentRecorder: EventRecorder = { event: () => undefined };

/** Makes the common dependencies from the options. A standalone agent records no Events. */
export function buildCommon(options: AgentOptions): CommonParts {
  const { clock = systemClock, random = systemRandom, logger = silentLogger, client } = options;
  const base = { clock, random, logger };
  const { onEvent: observe, nodeName: host, events } = options;
  const recorder = client
    ? new EventBroadcaster({ client, ...base, ...(observe && { observe }) }, { host, ...events })
    : silentRecorder;
  return { ...base, recorder };
}
