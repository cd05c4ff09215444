import { systemClock } from '../../../src/base/clock.ts';
import type { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { Manager, type ManagerOptions } from '../../../src/controller/index.ts';
import { keepingLogger, type Line } from '../controller/bench-controller.ts';
import { connectionTo, startServer } from '../support.ts';

const ends: (() => Promise<unknown>)[] = [];

/** Ends what the test has started, the last first. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** Reads until the value is wanted, at most 10 s. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  wanted: (value: T) => boolean = Boolean,
): Promise<T> {
  for (let left = 1000; ; left--) {
    const value = await read();
    if (wanted(value)) return value;
    if (left === 0) throw new Error(`still ${JSON.stringify(value)} after 10 s`);
    await systemClock.sleep(10);
  }
}

export async function server(): Promise<EmbeddedApiServer> {
  const one = await startServer();
  ends.push(() => one.stop());
  return one;
}

/** A manager of a server, which ends with the test. */
export function managerOf(api: EmbeddedApiServer, options: Partial<ManagerOptions> = {}) {
  const lines: Line[] = [];
  const manager = new Manager({ connection: connectionTo(api), logger: keepingLogger(lines), ...options });
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  ends.push(async () => {
    stop.abort();
    await running?.catch(() => undefined);
  });
  return {
    manager,
    stop,
    lines,
    start: (): Promise<void> => {
      running = manager.start(stop.signal);
      running.catch(() => undefined);
      return running;
    },
  };
}
