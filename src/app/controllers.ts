import type { ControllerName } from '../controllermanager/names.ts';
import type { EmbeddedApiServer } from '../apiserver/index.ts';
import { enabledControllers } from '../apiserver/controllers/controller-names.ts';
import type { Logger } from '../base/logger.ts';

/**
 * Starts the controllers of a list that work over the API, beside the embedded server.
 *
 * @param list as kube-controller-manager takes it: `*`, `-name`
 * @returns what stops them
 */
export async function startControllers(
  server: EmbeddedApiServer,
  list: readonly string[],
  logger: Logger,
): Promise<() => Promise<void>> {
  const enabled: ReadonlySet<string> = enabledControllers(list);
  // not loaded when none is enabled
  const { controllerNames, startControllerManager } = await import('../controllermanager/index.ts');
  const controllers = controllerNames.filter((name: ControllerName) => enabled.has(name));
  if (controllers.length === 0) return () => Promise.resolve();
  const { url, ca, admin } = server;
  const connection = { server: url, ca, cert: admin.cert, key: admin.key };
  const running = startControllerManager({ connection, controllers, logger });
  const ends = running.kinds.map((kind) => server.declareController(kind));
  return async () => {
    for (const end of ends) end();
    await running.stop();
  };
}
