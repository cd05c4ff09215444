import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { PingLoop } from '../../src/node/ping.ts';
import type { NodeProvider } from '../../src/provider/provider.ts';

const kinds: Readonly<Record<string, { ping: () => unknown; fault: string | undefined }>> = {
  throws: {
    ping: () => {
      throw new Error('the backend is away');
    },
    fault: 'the backend is away',
  },
  rejects: { ping: () => Promise.reject(new Error('the backend is away')), fault: 'the backend is away' },
  'rejects with a text': {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as providers do
    ping: () => Promise.reject('the backend is away'),
    fault: 'the backend is away',
  },
  'returns no promise': { ping: () => undefined, fault: undefined },
  'never answers': {
    ping: () => new Promise(() => undefined),
    fault: 'the provider did not answer a ping within 5000 ms',
  },
};

test.for(Object.keys(kinds))(
  'a ping that %s is reported, and so is the next one that succeeds',
  async (kind) => {
    const { ping, fault } = kinds[kind] ?? { ping: () => undefined, fault: '' };
    const clock = new FakeClock();
    const faults: unknown[] = [];
    let act = ping;
    const provider = { ping: () => act() } as NodeProvider;
    const loop = new PingLoop(provider, clock, { intervalMs: 10_000, timeoutMs: 5000 });
    const stop = new AbortController();
    const running = loop.run(() => faults.push(loop.fault), stop.signal);
    await clock.advance(6000);
    expect(loop.fault).toBe(fault);
    act = () => Promise.resolve();
    await clock.advance(15_000);
    expect(loop.fault).toBeUndefined();
    expect(faults).toEqual(fault === undefined ? [undefined] : [fault, undefined]);
    stop.abort();
    await settle();
    await running;
    expect(clock.pending).toBe(0);
  },
);
