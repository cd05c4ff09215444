import { setMaxListeners } from 'node:events';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Listeners on an upgraded connection: a server, two pipelines and their users. */
const mostListeners = 24;

/** Copies both directions with backpressure until one connection ends. */
export async function joinDuplexes(one: Duplex, other: Duplex): Promise<void> {
  setMaxListeners(mostListeners, one, other);
  const end = (): void => {
    one.destroy();
    other.destroy();
  };
  await Promise.all([pipeline(one, other), pipeline(other, one)]).catch(() => undefined);
  end();
}
