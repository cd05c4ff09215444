import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { ApiClient } from '../api/client.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import { Manager } from '../controller/manager/manager.ts';
import { type ControllerName, controllerNames, initializers } from './names.ts';

export { type ControllerName, controllerNames } from './names.ts';

/** Options of the built-in controllers. */
export interface ControllerManagerOptions {
  /** The API server, as a user who may do everything. */
  readonly connection: ApiConnection | ApiClient;
  /** Default: all. */
  readonly controllers?: readonly ControllerName[];
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** Built-in controllers at work. */
export interface RunningControllers {
  /** The kinds that they act on. */
  readonly kinds: readonly { readonly group: string; readonly resource: string }[];
  /** Stops all; resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/**
 * Starts controllers of kube-controller-manager: Deployments get ReplicaSets, ReplicaSets get pods and so on. They share one cache.
 *
 * @example
 * const server = await EmbeddedApiServer.start({ externalControllers: true });
 * const { url, ca, admin } = server;
 * const controllers = startControllerManager({ connection: { server: url, ca, cert: admin.cert, key: admin.key } });
 */
export function startControllerManager(options: ControllerManagerOptions): RunningControllers {
  const { connection, clock = systemClock, random = systemRandom, logger = silentLogger } = options;
  const manager = new Manager({
    connection,
    clock,
    random,
    logger,
    cache: { frozen: true },
    client: { readYourWrites: true, fieldOwner: 'kube-controller-manager' },
    gracefulShutdownTimeout: 5000,
  });
  const context = {
    manager,
    clock,
    random,
    recorder: (component: string) => manager.eventRecorderFor(component),
  };
  const enabled = (options.controllers ?? controllerNames).map((name) => initializers[name]);
  for (const { add } of enabled) add(context);
  const stop = new AbortController();
  const running = manager.start(stop.signal).catch((reason: unknown) => {
    if (!stop.signal.aborted) logger.error('The controllers have stopped', { err: messageOf(reason) });
  });
  return {
    kinds: enabled.flatMap(({ kind }) => kind ?? []),
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}
