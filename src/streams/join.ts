import { setMaxListeners } from 'node:events';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** What an upgraded connection is listened to by: a server, two pipelines and their users. */
const mostListeners = 24;

/** Both directions, each at the pace of the slower side, until one connection is over. */
export async function joinDuplexes(one: Duplex, other: Duplex): Promise<void> {
  setMaxListeners(mostListeners, one, other);
  const end = (): void => {
    one.destroy();
    other.destroy();
  };
  await Promise.all([pipeline(one, other), pipeline(other, one)]).catch(() => undefined);
  end();
}
